"""How long it has been sending good mail.

    value        the mean age of its good mail in days, where all its mail is the measure: sum(good
                 x age) / sum(all)
    confidence   sum(all) / (sum(all) + 10)

A day's good mail is what was neither found to be spam nor complained of nor in a trap that day.
Who sends evenly for two weeks has 6.5, whatever the amount; who began today has 0; a burst of today
makes a small past young.  Nothing is known from before the two weeks: what comes once a month is
new each time.
"""

from __future__ import annotations

from typing import Final

from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.timeline import DAYS, NOTHING, EntityHistory

ENOUGH: Final = 10.0  # messages that are worth as much as knowing nothing


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return the mean age of good mail."""
    weighed = first = 0
    for age, day in zip(range(DAYS - 1, -1, -1), past.days, strict=False):
        if day is NOTHING:
            continue
        good = day.good
        weighed += good * age
        if good and not first:
            first = age
    seen = past.fortnight.seen
    if not seen:
        return HistoryMeasure("age", 0.0, 0.0)
    if first == 0:
        say = "not known before today"
    else:
        since = (
            "two weeks or more" if first == DAYS - 1 else f"{first} days" if first > 1 else "a day"
        )
        say = f"known for {since}"
    return HistoryMeasure("age", weighed / seen, seen / (seen + ENOUGH), say)
