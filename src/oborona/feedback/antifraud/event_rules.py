"""Rules that look at the event itself."""

from __future__ import annotations

from typing import Final

from oborona.feedback.antifraud.model import EventCircumstances
from oborona.feedback.antifraud.standing import DAY_S
from oborona.feedback.events.model import EventKind
from oborona.types import Action

LATE_S: Final = (
    14 * DAY_S
)  # counters remember no longer, and what was sent before says nothing of what is sent now


def duplicate(c: EventCircumstances) -> str:
    """The same person says the same of the same message again."""
    return "said before" if c.earlier is c.what else ""


def unsigned(c: EventCircumstances) -> str:
    """Nothing shows that the message came through here: anybody may have written it."""
    return "" if c.signed else "no signature of ours"


def not_recipient(c: EventCircumstances) -> str:
    """The message was for others; its signature was handed around."""
    return "it was for others" if c.signed and c.person and not c.recipient else ""


def late(c: EventCircumstances) -> str:
    """The message is old."""
    age = c.time - c.delivered
    return f"{age / DAY_S:.0f} days after delivery" if c.delivered and age > LATE_S else ""


def withdrawn(c: EventCircumstances) -> str:
    """A person takes their own complaint back; that says nothing for others."""
    own = c.what is EventKind.PARDON and c.earlier is EventKind.COMPLAINT
    return (
        "the person's own complaint is taken back" if own and c.verdict is not Action.SPAM else ""
    )
