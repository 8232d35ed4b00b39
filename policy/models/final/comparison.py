"""Which of two ways to judge is better on the same mail: pure.

Both judged the same messages.  What they judged alike says nothing of which is better, so that the
others alone are counted (McNemar's test, by exact binomial probabilities).  A campaign counts once,
however many copies of it there were: the copies are no independent witnesses.

    better   it catches more by a chance of 1 % at most, loses no more, and that it loses 1 % more
             is excluded to 95 %
    worse    it loses more or catches less, by a chance of 5 % at most
    few      there is too little mail to find it better, and it is not worse
    same     else

Better is harder than worse on purpose: it is asked again with each report, and who asks often
enough is told once what is not so.

Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions",
1947; E. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from enum import StrEnum
from math import comb, sqrt
from typing import Final, NamedTuple

import msgspec

SURE_BETTER: Final = 0.01  # chance of so many more caught, were both alike
SURE_WORSE: Final = 0.05  # the same of worse
MOST_LOST: Final = 0.01  # share of good mail; that it loses so much more must be excluded
_Z: Final = 1.6449  # of 95 %, on one side
# campaigns of spam, below which no catch is told; good mail is bounded by `MOST_LOST` itself
LEAST_SPAM: Final = 30


class ComparisonResult(StrEnum):
    """What a comparison found of the first of two."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"
    FEW = "few"  # too little mail


class PairedVerdict(NamedTuple):
    """A message that both judged."""

    campaign: Hashable
    spam: bool  # by people's word
    first: bool  # filed as spam by the first
    second: bool


class PairedComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Campaigns, and how many of them the first judged otherwise than the second.

    A letter of which there is no other is a campaign of its own.
    """

    spam: int = 0
    ham: int = 0
    first_caught: float = 0.0  # share of spam
    second_caught: float = 0.0
    first_lost: float = 0.0  # share of good mail
    second_lost: float = 0.0
    gained: int = 0  # spam that the first catches oftener
    missed: int = 0  # spam that it catches more seldom
    lost: int = 0  # good mail that it files oftener
    spared: int = 0  # good mail that it files more seldom

    @property
    def result(self) -> ComparisonResult:
        """What it found of the first."""
        if sign_test(self.lost, self.spared) <= SURE_WORSE:
            return ComparisonResult.WORSE
        if sign_test(self.missed, self.gained) <= SURE_WORSE:
            return ComparisonResult.WORSE
        if self.spam < LEAST_SPAM or upper_share(0, self.ham) > MOST_LOST:
            return ComparisonResult.FEW
        safe = (
            self.lost <= self.spared
            and upper_share(self.lost, self.ham) - self.spared / self.ham <= MOST_LOST
        )
        if safe and sign_test(self.gained, self.missed) <= SURE_BETTER:
            return ComparisonResult.BETTER
        return ComparisonResult.SAME


def compare(verdicts: Iterable[PairedVerdict]) -> PairedComparison:
    """Return how two ways to judge differ.

    Args:
        verdicts: of both; copies of one campaign and kind are one, filed by the share that is.
    """
    tallies: dict[tuple[Hashable, bool], list[int]] = {}
    for verdict in verdicts:
        tally = tallies.setdefault((verdict.campaign, verdict.spam), [0, 0, 0])
        tally[0] += 1
        tally[1] += verdict.first
        tally[2] += verdict.second
    of_kind = {
        spam: [tally for (_, kind), tally in tallies.items() if kind is spam]
        for spam in (True, False)
    }
    caught, lost = (
        [_mean_share(of_kind[spam], place) for place in (1, 2)] for spam in (True, False)
    )
    more, fewer = (
        [sum(first > second for _, first, second in of_kind[spam]) for spam in (True, False)],
        [sum(first < second for _, first, second in of_kind[spam]) for spam in (True, False)],
    )
    return PairedComparison(
        spam=len(of_kind[True]),
        ham=len(of_kind[False]),
        first_caught=caught[0],
        second_caught=caught[1],
        first_lost=lost[0],
        second_lost=lost[1],
        gained=more[0],
        missed=fewer[0],
        lost=more[1],
        spared=fewer[1],
    )


def sign_test(more: int, fewer: int) -> float:
    """Return the chance of so many or more for the first, were both alike; 1 where none differ."""
    number = more + fewer
    return sum(comb(number, hits) for hits in range(more, number + 1)) / (1 << number)


def upper_share(hits: int, of: int) -> float:
    """Return the share that is not exceeded, to 95 %; 1 where there is nothing.

    Wilson's score interval, on one side.
    """
    if not of:
        return 1.0
    share = hits / of
    spread = _Z * sqrt(share * (1 - share) / of + _Z * _Z / (4 * of * of))
    return max(share, min(1.0, (share + _Z * _Z / (2 * of) + spread) / (1 + _Z * _Z / of)))


def _mean_share(tallies: list[list[int]], place: int) -> float:
    return sum(tally[place] / tally[0] for tally in tallies) / len(tallies) if tallies else 0.0
