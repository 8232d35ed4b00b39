"""How much it does now against what it ever did: volume of the last hour and day, recipients of the
last day.

    usual hour   the busiest hour of the 23 before, or a third of the busiest day before, or 10
                 messages; whichever is most
    usual day    the busiest day before, or 20 messages
    value        the largest of hour / usual hour, day / usual day, recipients of the day /
                 recipients of the busiest day (20 at least)
    confidence   before / (before + 20): how much mail there was to compare with

All mail counts as now, and good mail alone as usual: spam of yesterday is no excuse for today's.
The busiest, not the mean: who sends at weekends, each Tuesday or on weekdays only does what it did
a week ago, and has changed nothing; a day early or late is no change either.

What can't be told: the counters keep ten-minute buckets of one day, so that at what hours it sent a
week ago is not known, and unusual hours are not judged; of what comes once a month every time is
the first.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.judgement.phrases import times
from oborona.reputation.timeline import HOUR, NOTHING, EntityHistory

HOURS_A_DAY: Final = 3.0  # who sends all of a day's mail in an hour or in a few is no rarity
LEAST_HOUR: Final = 10.0  # messages; fewer are nobody's burst
LEAST_DAY: Final = 20.0
TOLD: Final = 3.0  # times; what is not more is not worth a word


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return how many times the usual comes now."""
    before = [day for day in past.before if day is not NOTHING]
    good = [day.good for day in before]
    best = max(good, default=0)
    reached = max((day.recipients for day in before), default=0)
    hour = past.hour.seen / _busiest_hour(past, max(LEAST_HOUR, best / HOURS_A_DAY))
    day = past.day.seen / max(LEAST_DAY, best)
    recipients = past.day.recipients / max(LEAST_DAY, reached)
    value = max(hour, day, recipients)
    if value <= TOLD:
        say = ""
    elif value == hour:
        say = f"{times(hour)} its usual volume in the last hour ({past.hour.seen:,} messages)"
    elif value == day:
        say = f"{times(day)} its usual volume in the last day ({past.day.seen:,} messages)"
    else:
        say = f"{times(recipients)} its usual recipients in the last day ({past.day.recipients:,})"
    count = sum(good)
    return HistoryMeasure("change", value, count / (count + LEAST_DAY), say)


def _busiest_hour(past: EntityHistory, usual: float) -> float:
    """Good mail of the busiest of the hours before the last one, where that is more than what is
    usual anyway.
    """
    hours = past.came[:-HOUR].reshape(-1, HOUR).sum(axis=1)
    for number in np.flatnonzero(hours > usual).tolist():
        usual = max(
            usual, sum(bucket.good for bucket in past.buckets[number * HOUR : (number + 1) * HOUR])
        )
    return usual
