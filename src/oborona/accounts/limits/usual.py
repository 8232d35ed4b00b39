"""What somebody sends on an ordinary day, from the time-line of the counters.

    usual       median of the days before today on which there was any; of five such days at least
    one day     counts for at most three times the largest day before it
    age         days since the first day with any, of the fourteen that are kept; 13 at most
    largest     what there was on the largest of these days before today

Whoever sends on weekdays, or each Tuesday, is as usual as on those days.  One large day moves a
median little; a spammer who warms up slowly does move it, and meets the floor of the formula
before: a limit is to have both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from oborona.reputation.median import median_spread

LEAST_DAYS: Final = 5  # with any: fewer make no ordinary day
GROWTH: Final = 3.0  # times the largest day before: what a day counts for at most


class AccountPast(NamedTuple):
    """What is known of who sends, from earlier days."""

    usual: float | None  # a day; None for too few days to tell
    age_days: int
    largest: int = 0


UNKNOWN_PAST: Final = AccountPast(None, 0)


def account_past(days: Sequence[int]) -> AccountPast:
    """Return what earlier days say of who sends.

    Args:
        days: how much there was on each day, oldest first, today last.
    """
    first = next((age for age, amount in _aged(days) if amount > 0), 0)
    some = [float(amount) for amount in days[:-1] if amount > 0]
    top = max(days[:-1], default=0)
    if len(some) < LEAST_DAYS:
        return AccountPast(None, first, top)
    largest = some[0]
    believed = [largest]
    for amount in some[1:]:
        believed.append(min(amount, GROWTH * largest))
        largest = max(largest, believed[-1])
    return AccountPast(median_spread(believed).middle, first, top)


def _aged(days: Sequence[int]) -> list[tuple[int, int]]:
    """Return how many days ago each was, and what there was."""
    return [(len(days) - 1 - number, amount) for number, amount in enumerate(days)]
