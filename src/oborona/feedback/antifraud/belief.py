"""Decides whether an event counts for all.

    no rule fires    it counts, with the weight of its person
    a rule fires     it does not count; the person's own lists may still follow it

Trap hits and the site's own reports always count: both are the admin's.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.antifraud.model import Belief, EventCircumstances
from oborona.feedback.antifraud.rules import RULES
from oborona.feedback.events.model import EventChannel, EventKind

_OPPOSITE: Final = {EventKind.COMPLAINT: EventKind.PARDON, EventKind.PARDON: EventKind.COMPLAINT}


def believe(c: EventCircumstances) -> Belief:
    """Return whether an event counts, how much, and the names of the rules that say no.

    The same circumstances give the same belief.
    """
    takes_back = c.earlier is not None and c.earlier is _OPPOSITE.get(c.what)
    if is_from_site(c.what, c.way, c.person):
        return Belief(counts=True, weight=1.0, takes_back=takes_back)
    fired = [(rule.name, say) for rule in RULES if (say := rule.fires(c))]
    return Belief(
        counts=not fired,
        weight=0.0 if fired else c.record.weight,
        rules=tuple(name for name, _ in fired),
        say="; ".join(say for _, say in fired),
        takes_back=takes_back,
    )


def is_from_site(kind: EventKind, way: EventChannel, person: str) -> bool:
    """Tell whether it is the admin's word, or an address of theirs.

    What is taught for a person is that person's word.
    """
    return kind is EventKind.TRAP or (way is EventChannel.COMMAND and not person)
