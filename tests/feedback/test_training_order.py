"""Order of learning, rank of what is kept, and the filter of persons."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.label import LabelKind
from oborona.feedback.person_filter import may_have, with_person
from oborona.feedback.rank import HALF_LIFE_S, rank_of, room
from oborona.feedback.training_order import LONG_RUN, LabelRuns, training_order


def test_words_that_came_mixed_are_learned_as_they_came() -> None:
    assert training_order([1, 3, 5], [2, 4, 6]) == [1, 2, 3, 4, 5, 6]
    assert training_order(range(1, LONG_RUN), []) == list(range(1, LONG_RUN))
    assert training_order([], []) == []


def test_words_that_came_sorted_are_learned_in_step() -> None:
    found = training_order(range(1, 101), range(101, 151))
    kinds = "".join("s" if ident <= 100 else "h" for ident in found)
    assert sorted(found) == list(range(1, 151))
    assert "sss" not in kinds
    assert "hh" not in kinds
    assert [ident for ident in found if ident > 100] == list(range(101, 151))


@given(st.sets(st.integers(1, 500)), st.sets(st.integers(501, 1000)))
def test_every_word_is_learned_once_each_class_in_its_order(spam: set[int], ham: set[int]) -> None:
    found = training_order(sorted(spam), sorted(ham))
    assert [ident for ident in found if ident in spam] == sorted(spam)
    assert [ident for ident in found if ident in ham] == sorted(ham)


def test_a_run_counts_by_its_share_of_all() -> None:
    runs = LabelRuns()
    for _ in range(LONG_RUN - 1):
        runs.add(LabelKind.SPAM)
    assert not runs.sorted(100)
    runs.add(LabelKind.SPAM)
    assert runs.sorted(100)
    assert not runs.sorted(100 * LONG_RUN)


def test_a_recent_word_is_kept_rather_than_an_old_one_and_no_word_surely() -> None:
    """After three half-lives, old words are drawn an eighth as often: w / (w + 8 w) each."""
    digests = [number.to_bytes(16) for number in range(4000)]
    old = [rank_of(digest, "", 0.0) for digest in digests[:2000]]
    new = [rank_of(digest, "", 3 * HALF_LIFE_S) for digest in digests[2000:]]
    kept = sorted([(rank, "old") for rank in old] + [(rank, "new") for rank in new])[:200]
    share = sum(kind == "old" for _, kind in kept) / 200
    assert 0.05 < share < 0.2
    assert room(10_000) == 11_000


def test_the_rank_depends_on_message_and_person_and_nothing_else() -> None:
    assert rank_of(b"a" * 16, "x", 5.0) == rank_of(b"a" * 16, "x", 5.0)
    assert (
        len(
            {
                rank_of(b"a" * 16, "x", 5.0),
                rank_of(b"b" * 16, "x", 5.0),
                rank_of(b"a" * 16, "y", 5.0),
            }
        )
        == 3
    )


@given(st.lists(st.text(max_size=30), max_size=40))
def test_who_is_in_the_filter_is_found(persons: list[str]) -> None:
    known = b""
    for person in persons:
        known = with_person(known, person)
    assert all(may_have(known, person) for person in persons)


def test_who_is_not_in_the_filter_is_mostly_not_looked_up() -> None:
    known = b""
    assert not may_have(known, "ann@b.example")
    for number in range(400):
        known = with_person(known, f"{number}@b.example")
    drawn = random.Random(3)
    vain = sum(may_have(known, f"{drawn.random()}@c.example") for _ in range(2000))
    assert 50 < vain < 400
