"""What an entity's readers do with its mail: read it, or delete it unread.

    r, d, n      read, deleted unread, and messages that were not found to be spam; sums in which
                 the old is worth less
    value        r / (n + 10): the share that was read, 0 to 1 (a message read twice counts twice,
                 and the share stops at 1)
    confidence   (r + d) / (r + d + 20)

Where nobody says what is read, r and d are 0, and so is the confidence.
"""

from __future__ import annotations

from typing import Final

from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.judgement.phrases import percent
from oborona.reputation.timeline import EntityHistory

PRIOR: Final = 10.0  # messages nobody read
ENOUGH: Final = 20.0  # readers that are worth as much as knowing nothing


def deleted_unread_share(past: EntityHistory) -> float:
    """Return what share of the mail whose fate is known was deleted unread.

    A little mail leaves it below that.
    """
    sums = past.weighed
    return sums.deleted / (sums.deleted + sums.reads + PRIOR)


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return the share of its mail that is read."""
    sums, all_ = past.weighed, past.fortnight
    total = sums.reads + sums.deleted
    if not total:
        return HistoryMeasure("readers", 0.0, 0.0)
    value = min(1.0, sums.reads / (sums.passed + PRIOR))
    parts = [f"{percent(min(1.0, all_.reads / max(1, all_.seen)))} were read"]
    if all_.deleted:
        parts.append(f"{percent(min(1.0, all_.deleted / max(1, all_.seen)))} deleted unread")
    return HistoryMeasure("readers", value, total / (total + ENOUGH), ", ".join(parts))
