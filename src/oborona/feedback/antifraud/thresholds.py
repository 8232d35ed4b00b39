"""Daily limits on one person's complaints and pardons, from all people's numbers of the day before.

    median + 9 * max(1, 1.4826 * MAD)    of those who complained at all, and of 20 more who did so
                                         once; MAD is the median absolute deviation
    at least 20 and 10           complaints and pardons: few people have more, and a site of five
                                 people has no other measure
    at most 100 and 50           and at most twice the day before, however many robots there are

One heavy user moves neither median nor MAD.  Robots move them once they are more than half of all
reporters; then the limits rise in steps that the history shows, up to a maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.feedback.antifraud.model import DailyThresholds
from oborona.reputation.median import median_spread

SPREADS: Final = 9.0  # deviations; what people do has a long tail, and few in it cheat
# people who did it once, added to those who are known: five people make no distribution, and one of
# them least of all
MODEST: Final = 20
NARROWEST: Final = 1.0  # event; where most do exactly one, the median distance is 0
COMPLAINTS: Final = (
    20.0,
    100.0,
)  # a day: somebody clears their inbox after a week away; a person who reads has no time for more
# a day; people look into the spam folder less often, and find less there
PARDONS: Final = (10.0, 50.0)
FLOORS: Final = DailyThresholds(complaints=COMPLAINTS[0], pardons=PARDONS[0], people=0)
GROWTH: Final = 2.0  # at most, from one day to the next


def daily_thresholds(
    complaints_of_each: Sequence[int],
    pardons_of_each: Sequence[int],
    before: DailyThresholds | None = None,
) -> DailyThresholds:
    """Return the thresholds of a day.

    Args:
        complaints_of_each: how many each person made on the day before, believed or not; those of 0
            are passed over.
        pardons_of_each: the same of pardons, in any order; people need not be the same.
        before: the thresholds of the day before; None where there were none: the floors.
    """
    last = before or FLOORS
    return DailyThresholds(
        complaints=_threshold(complaints_of_each, COMPLAINTS, last.complaints),
        pardons=_threshold(pardons_of_each, PARDONS, last.pardons),
        people=max(
            sum(1 for count in counts if count > 0)
            for counts in (complaints_of_each, pardons_of_each)
        ),
    )


def _threshold(of_each: Sequence[int], limits: tuple[float, float], before: float) -> float:
    floor, ceiling = limits
    some = [count for count in of_each if count > 0] + [1] * MODEST
    middle, spread = median_spread(some)
    most = middle + SPREADS * max(NARROWEST, spread)
    return max(floor, min(ceiling, GROWTH * before, most))
