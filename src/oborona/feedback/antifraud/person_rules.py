"""Rules that look at the reporter."""

from __future__ import annotations

from typing import Final

from oborona.feedback.antifraud import standing
from oborona.feedback.antifraud.model import EventCircumstances
from oborona.feedback.antifraud.thresholds import FLOORS
from oborona.feedback.events.model import EventKind

# pardons; who finds three good messages among spam may well have found no spam among good ones
ONLY_FROM: Final = 3
# a proven person may complain so many times as often as others: somebody keeps the mailbox of a
# whole office clean
PROVEN_SHARE: Final = 3.0


def abnormal(c: EventCircumstances) -> str:
    """The person speaks more often than nearly anybody did yesterday."""
    limits = c.thresholds or FLOORS
    if c.what is EventKind.COMPLAINT:
        today, limit = c.record.complaints_today + 1, limits.complaints
        if standing.is_proven(c.record, c.time):
            limit *= PROVEN_SHARE
    elif c.what is EventKind.PARDON:
        today, limit = c.record.pardons_today + 1, limits.pardons
    else:
        return ""
    return f"number {today} today, {limit:.0f} are usual at most" if today > limit else ""


def unreliable(c: EventCircumstances) -> str:
    """The person was wrong too often."""
    if c.record.weight >= standing.LEAST:
        return ""
    return f"wrong {c.record.wrong:.0f} times, right {c.record.right:.0f}"


def no_past(c: EventCircumstances) -> str:
    """A pardon of a person nobody knows: accounts are bought by the hundred, and spam in the spam
    folder harms nobody.
    """
    if c.what is not EventKind.PARDON or not standing.is_newcomer(c.record, c.time):
        return ""
    if not c.record.first:
        return "nothing known of the person"
    return f"known for {(c.time - c.record.first) / standing.DAY_S:.0f} days"


def only_pardons(c: EventCircumstances) -> str:
    """A pardon of a person who pardons again and again, and never complained."""
    if (
        c.what is not EventKind.PARDON
        or c.record.pardons < ONLY_FROM
        or not standing.only_pardons(c.record)
    ):
        return ""
    return f"{c.record.pardons} not-spam reports before, no spam report"
