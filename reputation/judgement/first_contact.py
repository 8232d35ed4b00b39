"""How many of its readers had never had mail from it.

    f            messages to somebody who had had none from it for two weeks; the old is worth less
    value        f / max(f, good mail): the share of strangers, 0 to 1, 1 where nothing of its mail
                 is good
    confidence   f / (f + 50)

A person writes to a new address now and then, a firm to a few a day; who writes to strangers only,
and to many of them, has a list.  Where first contacts are not counted there are none, and nothing
is held against anybody.
"""

from __future__ import annotations

from typing import Final

from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.judgement.phrases import percent
from oborona.reputation.timeline import EntityHistory

ENOUGH: Final = 50.0  # first contacts that are worth as much as knowing nothing
TOLD: Final = 0.5  # share worth a word


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return the share of strangers among its readers."""
    sums, all_ = past.weighed, past.fortnight
    if not sums.first:
        return HistoryMeasure("contact", 0.0, 0.0)
    good = sums.passed - sums.complaints - sums.traps
    share = sums.first / max(sums.first, good)
    reached = all_.first / max(all_.first, all_.seen)
    say = f"{percent(reached)} of its recipients never had mail from it" if reached >= TOLD else ""
    return HistoryMeasure("contact", share, sums.first / (sums.first + ENOUGH), say)
