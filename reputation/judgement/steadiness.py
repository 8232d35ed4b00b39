"""Whether an entity sends good mail steadily, or has sent it all at once.

    value        days of the fortnight with good mail, 0 to 14
    confidence   sum(all) / (sum(all) + 10)

Two days with a week between them are a newsletter's rhythm; one day is one event, however large.
"""

from __future__ import annotations

from typing import Final

from oborona.reputation.judgement.age import ENOUGH
from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.timeline import NOTHING, EntityHistory

TOLD: Final = 10  # messages on one day worth a word


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return on how many days it sent good mail."""
    days = sum(day.good > 0 for day in past.days if day is not NOTHING)
    seen = past.fortnight.seen
    if not seen:
        return HistoryMeasure("steady", 0.0, 0.0)
    if days == 0:
        say = "no good mail in two weeks"
    elif days == 1:
        say = "all its good mail on one day" if seen >= TOLD else ""
    else:
        say = f"good mail on {days} days"
    return HistoryMeasure("steady", float(days), seen / (seen + ENOUGH), say)
