"""The store of people's word: counted once, replaced by the same person's later word, taken back,
by many at once.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.errors import StoreError, StoreFull, StoreVersion
from oborona.feedback import schema
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label import Label, LabelKind, LabelSource, LabelState, RecordedLabel
from oborona.feedback.label_store import LabelStore, pack_shingles, unpack_shingles
from oborona.feedback.training_store import TrainingStore
from oborona.types import Shingle
from tests.feedback.words import NOW, mixed, teach, word


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LabelStore]:
    with LabelStore(tmp_path / state_files.FEEDBACK) as opened:
        yield opened


def test_a_word_is_kept_as_it_was_said(store: LabelStore) -> None:
    one = msgspec.structs.replace(word(1, LabelKind.SPAM, person="ann@b.example"), journal=77)
    assert store.add([one], now=NOW + 5) == [RecordedLabel(id=1, new=True, counted=len(one.pieces))]
    found = store.get(1)
    assert (found.kind, found.source, found.person) == (
        LabelKind.SPAM,
        LabelSource.COMPLAINT,
        "ann@b.example",
    )
    assert (found.time, found.changed, found.state, found.journal) == (
        NOW,
        NOW + 5,
        LabelState.QUEUED,
        77,
    )
    assert found.message_id == "spam.1@a.example"
    with pytest.raises(KeyError):
        store.get(2)


def test_the_same_word_of_the_same_person_counts_once_and_of_another_counts_again(
    store: LabelStore,
) -> None:
    ann, bob, site = (
        word(1, LabelKind.SPAM, person=person) for person in ("ann@b.example", "bob@b.example", "")
    )
    assert [one.new for one in store.add([ann, bob, site, ann, site], now=NOW)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert store.add([ann], now=NOW) == [RecordedLabel(id=1, new=False)]


def test_the_opposite_word_of_the_same_person_takes_the_first_back(store: LabelStore) -> None:
    spam = word(1, LabelKind.SPAM, person="ann@b.example")
    ham = msgspec.structs.replace(spam, kind=LabelKind.HAM)
    on = len(spam.pieces)
    assert store.add([spam, ham], now=NOW) == [
        RecordedLabel(id=1, new=True, counted=on),
        RecordedLabel(id=2, new=True, replaced=1, counted=on),
    ]
    assert store.states([1, 2]) == {1: LabelState.TAKEN_BACK, 2: LabelState.QUEUED}
    assert store.get(1).reason == "label 2 says the opposite"
    assert store.add([spam], now=NOW) == [RecordedLabel(id=3, new=True, replaced=2, counted=on)]


def test_what_is_taken_back_can_be_said_again_and_its_example_is_gone(store: LabelStore) -> None:
    teach(store.path.parent, mixed(4))
    assert store.take_back([2, 3, 99], reason="wrong folder", by="ann", now=NOW) == [2, 3]
    assert store.take_back([2], reason="again", by="ann", now=NOW) == []
    assert store.get(2).reason == "wrong folder"
    assert store.rows("SELECT id FROM example ORDER BY id") == [(1,), (4,)]
    assert store.add([mixed(4)[1]], now=NOW)[0].new


def test_words_are_chosen_by_person_and_by_time(store: LabelStore) -> None:
    store.add(
        [word(n, LabelKind.SPAM, person=f"{n % 2}@b.example", when=NOW + n) for n in range(6)],
        now=NOW,
    )
    store.take_back([1], reason="x", by="ann", now=NOW)
    assert store.of_person("0@b.example") == [3, 5]
    assert store.since(NOW + 3) == [4, 5, 6]
    assert [one.id for one in store.last(2)] == [6, 5]


@pytest.mark.parametrize(
    "person", ["'; DROP TABLE word; --", "\0@b", "ann\ud800@b.example", "п@пример.рф", "x" * 5000]
)
def test_hostile_persons_are_texts_like_others(store: LabelStore, person: str) -> None:
    one = word(1, LabelKind.HAM, person=person)
    store.add([one], now=NOW)
    assert store.of_person(one.person) == [1]
    assert one.person == person.lower().encode("utf-8", "backslashreplace").decode()


def test_nothing_of_a_batch_is_kept_when_the_disk_is_full(tmp_path: Path) -> None:
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        store.add(mixed(3), now=NOW)
        ((pages,),) = store.rows("PRAGMA page_count")
        store.rows(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(StoreFull, match="no room left"):
            store.add(mixed(300, first=3), now=NOW)
        assert store.rows("SELECT count(*) FROM word") == [(3,)]
        store.rows("PRAGMA max_page_count = 100000")
        assert len(store.add(mixed(300, first=3), now=NOW)) == 300


def _learner(path: Path, numbers: range) -> None:
    with LabelStore(path) as store:
        for number in numbers:
            store.add([word(number, LabelKind.SPAM, person="ann@b.example")], now=NOW)


def test_many_processes_write_at_once_and_each_word_is_there_once(tmp_path: Path) -> None:
    LabelStore(tmp_path / state_files.FEEDBACK).close()
    forking = multiprocessing.get_context("spawn")
    overlapping = [range(30), range(10, 40), range(20, 50)]
    processes = [
        forking.Process(target=_learner, args=(tmp_path / state_files.FEEDBACK, numbers))
        for numbers in overlapping
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        assert store.rows("SELECT count(*), count(DISTINCT digest) FROM word") == [(50, 50)]


def test_a_long_queue_is_written_and_taken_quickly(tmp_path: Path) -> None:
    """100,000 words wait; taking the next does not look at all of them."""
    one = word(1, LabelKind.SPAM)
    small = msgspec.structs.replace(one, features=b".", pieces=())
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        for first in range(0, 100_000, 10_000):
            batch = [
                msgspec.structs.replace(small, digest=n.to_bytes(16))
                for n in range(first, first + 10_000)
            ]
            store.add(batch, now=NOW)
    with TrainingStore(tmp_path / state_files.FEEDBACK) as lessons:
        began = time.process_time()
        for _ in range(100):
            assert len(lessons.waiting(50_000, 20)) == 20
        assert time.process_time() - began < 0.5


def test_other_peoples_files_newer_ones_and_damaged_ones_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / state_files.FEEDBACK
    with pytest.raises(StoreError, match="nothing was trained yet"):
        LabelStore(path, make=False)
    with FeedbackConnection(path) as ours:
        ours.rows(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
    with pytest.raises(StoreVersion, match="newer"):
        LabelStore(path)
    path.unlink()
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    with pytest.raises(StoreError, match="Move it away"):
        LabelStore(path)


def test_pieces_come_back_as_they_were() -> None:
    pieces = (Shingle(1, 0), Shingle(75, 2**64 - 1))
    assert unpack_shingles(pack_shingles(pieces)) == pieces
    assert isinstance(word(1, LabelKind.SPAM), Label)
    assert word(1, LabelKind.SPAM).pieces
