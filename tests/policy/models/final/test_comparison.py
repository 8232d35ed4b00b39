"""Which of two ways to judge is better: by what they judged otherwise, campaign by campaign."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.policy.models.final.comparison import (
    LEAST_SPAM,
    MOST_LOST,
    ComparisonResult,
    PairedComparison,
    PairedVerdict,
    compare,
    sign_test,
    upper_share,
)


def verdicts(
    kind: str, *, both: int, first: int = 0, second: int = 0, neither: int = 0
) -> list[PairedVerdict]:
    spam, made = kind == "spam", list[PairedVerdict]()
    for number, one, other in (
        (both, True, True),
        (first, True, False),
        (second, False, True),
        (neither, False, False),
    ):
        for _ in range(number):
            made.append(PairedVerdict((kind, len(made)), spam, one, other))
    return made


@pytest.mark.parametrize(
    ("spam", "ham", "result"),
    [
        # more caught, nothing lost
        ({"both": 60, "first": 20}, {"both": 0, "neither": 500}, ComparisonResult.BETTER),
        # the same
        ({"both": 80}, {"both": 0, "neither": 500}, ComparisonResult.SAME),
        # six to none are a chance of 1 in 64
        ({"both": 60, "first": 6}, {"both": 0, "neither": 500}, ComparisonResult.SAME),
        ({"both": 60, "first": 7}, {"both": 0, "neither": 500}, ComparisonResult.BETTER),
        # more caught, and one good message more lost: not better, not yet worse
        ({"both": 60, "first": 20}, {"both": 0, "first": 1, "neither": 500}, ComparisonResult.SAME),
        (
            {"both": 60, "first": 20},
            {"both": 0, "first": 5, "neither": 500},
            ComparisonResult.WORSE,
        ),
        # as many lost as spared
        (
            {"both": 60, "first": 20},
            {"both": 3, "first": 2, "second": 2, "neither": 500},
            ComparisonResult.BETTER,
        ),
        # too little good mail to know that none is lost
        ({"both": 60, "first": 20}, {"both": 0, "neither": 200}, ComparisonResult.FEW),
        # too little spam
        ({"both": 10, "first": 10}, {"both": 0, "neither": 500}, ComparisonResult.FEW),
        # however little there is: what is worse is
        ({"both": 0, "second": 5}, {"both": 0, "neither": 5}, ComparisonResult.WORSE),
        ({"both": 0}, {"both": 0}, ComparisonResult.FEW),
    ],
)
def test_golden_comparisons(
    spam: dict[str, int], ham: dict[str, int], result: ComparisonResult
) -> None:
    assert compare([*verdicts("spam", **spam), *verdicts("ham", **ham)]).result is result


def test_a_campaign_counts_once_however_many_copies_there_are() -> None:
    many = [PairedVerdict("c", True, True, False)] * 1000
    found = compare([*many, *verdicts("spam", both=60), *verdicts("ham", both=0, neither=500)])
    assert (found.spam, found.gained) == (61, 1)
    assert found.result is ComparisonResult.SAME
    # and what people disagree on is a campaign of both kinds
    assert compare([*many, PairedVerdict("c", False, True, True)]).ham == 1


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_sign_test_is_a_probability_and_falls_with_more_for_the_first(
    more: int, fewer: int
) -> None:
    chance = sign_test(more, fewer)
    assert 0 < chance <= 1
    assert sign_test(more + 1, fewer) <= chance
    assert sign_test(more, fewer + 1) >= chance


@given(st.integers(1, 10_000), st.data())
def test_an_upper_bound_is_above_the_share(of: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, of))
    assert hits / of <= upper_share(hits, of) <= 1
    assert upper_share(0, 0) == 1


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.booleans(), st.booleans(), st.booleans()), max_size=200
    )
)
def test_better_one_way_is_never_better_the_other_way(
    drawn: list[tuple[int, bool, bool, bool]],
) -> None:
    there = compare(PairedVerdict(*one) for one in drawn)
    back = compare(PairedVerdict(one[0], one[1], one[3], one[2]) for one in drawn)
    assert (there.gained, there.missed, there.lost, there.spared) == (
        back.missed,
        back.gained,
        back.spared,
        back.lost,
    )
    better = ComparisonResult.BETTER
    assert not (there.result is better and back.result is better)


def test_the_least_good_mail_is_what_excludes_the_loss() -> None:
    enough = PairedComparison(spam=LEAST_SPAM, ham=268, gained=20)
    assert upper_share(0, 268) <= MOST_LOST < upper_share(0, 267)
    assert enough.result is ComparisonResult.BETTER
