"""Where calls of the desk are made by a console of several machines: said here once, for the desks
and for the pages.

    ALL      what every machine has a part of: all are asked, and what they say becomes one answer
    OWNER    what one machine has: a message, a move, a campaign's case, the machine itself
    others   people, policy, lists, signatures, entities: the home desk's, whose people they are

A desk answers the first two to home desks of other machines, and none of the others.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class CallPlace(StrEnum):
    """Where a call is made."""

    ALL = "all"
    OWNER = "owner"
    HOME = "home"


ASKED_OF_ALL: Final = frozenset(
    {
        "audit.find",
        "campaigns.list",
        "charts.read",
        "charts.series",
        "events.list",
        "incident.list",
        "messages.find",
        "messages.mine",
        "own.said",
        "overview.read",
        "recheck.moves",
    }
)
ASKED_OF_OWNER: Final = frozenset(
    {
        "account.ban",
        "account.explain",
        "account.forget",
        "account.limit",
        "account.list",
        "account.show",
        "account.trust",
        "account.unban",
        "account.untrust",
        "campaigns.decide",
        "campaigns.show",
        "campaigns.take",
        "campaigns.undecide",
        "cases.note",
        "cases.snooze",
        "doctor.checks",
        "doctor.report",
        "events.raw",
        "events.restore",
        "events.show",
        "events.take_back",
        "incident.close",
        "incident.show",
        "incident.take",
        "incident.undo",
        "messages.explain",
        "messages.story",
        "model.unlearn",
        "own.not_spam",
        "own.say_again",
        "own.take_back",
        "policy.reload",
        "recheck.discard",
        "recheck.look",
        "recheck.resume",
        "recheck.status",
        "recheck.undo",
        "reputation.forgive",
        "status.read",
        "teach",
    }
)
SOUGHT: Final = frozenset({"messages.explain", "messages.story"})
"""Of these, where nobody knows which machine has what they are about, all are asked for it."""


def place_of(call: str) -> CallPlace:
    """Return where a call is made."""
    if call in ASKED_OF_ALL:
        return CallPlace.ALL
    return CallPlace.OWNER if call in ASKED_OF_OWNER else CallPlace.HOME


def is_for_others(call: str) -> bool:
    """Return whether a desk answers a call to home desks of other machines."""
    return place_of(call) is not CallPlace.HOME
