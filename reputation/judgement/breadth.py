"""How many people it writes to: one, or thousands.

    value        distinct recipients on a day with mail, in the mean; 0 where recipients are not
                 counted
    confidence   days with mail / (days with mail + 1)

A name that hangs on one mailbox is cheap: whoever has a mailbox here can send himself good mail for
weeks.
"""

from __future__ import annotations

from typing import Final

from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.judgement.phrases import some
from oborona.reputation.timeline import EntityHistory

ONE: Final = 1.5  # recipients a day and fewer are one
TOLD: Final = 100.0  # recipients a day worth a word


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return the number of people that it writes to on a day."""
    reached = [day.recipients for day in past.days if day.recipients]
    if not reached:
        return HistoryMeasure("breadth", 0.0, 0.0)
    value = sum(reached) / len(reached)
    messages = past.fortnight.seen / sum(reached)
    if value < ONE:
        say = "one recipient a day"
    elif value >= TOLD:
        say = f"{some(value, 'recipients')} a day, {messages:.1f} messages each"
    else:
        say = ""
    return HistoryMeasure("breadth", value, len(reached) / (len(reached) + 1), say)
