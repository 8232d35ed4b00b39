"""Incidents, and the actions that follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from oborona.accounts.inspector.decision import IncidentLine

FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0  # after attempts at an action that failed
TOLD_AFTER: Final = 3  # attempts that failed: people hear of it


class IncidentVerdict(StrEnum):
    """What was said of an incident: by a person, or by what it was about."""

    SPAM = "spam"
    NOT_SPAM = "not-spam"
    OVER = "over"  # it ended by itself: neither


class ActionKind(StrEnum):
    """What is done because of an incident."""

    ALERT = "alert"
    SECOND = "second"  # an alert for others, unless somebody looks after it by then
    LIMIT = "limit"
    BAN = "ban"
    HOOK = "hook"  # another system hears what the account may do: it is posted
    COMMAND = "command"  # a command of this machine hears it


class ActionState(StrEnum):
    """How far an action is."""

    WANTED = "wanted"  # the keeper does it
    DONE = "done"
    SHADOW = "shadow"  # it would have been done
    UNDONE = "undone"
    SKIPPED = "skipped"  # a later one says it all, or nobody is to be told


class IncidentAction(msgspec.Struct, frozen=True, kw_only=True):
    """One action; its id is the same each time that it is tried."""

    id: int
    incident: int | None  # None: a person did it
    kind: ActionKind
    target: str  # the account
    state: ActionState
    wanted_at: float  # Unix seconds
    done_at: float = 0.0
    undone_by: str = ""
    body: str = ""  # of a hook or a command, JSON
    attempts: int = 0  # that failed
    retry_at: float = 0.0  # Unix seconds
    answer: str = ""  # of the last attempt that failed

    @property
    def message(self) -> bytes:
        """What the other system hears: the body with the action's id, by which it knows what it has
        had.
        """
        return b'{"id":%d,' % self.id + self.body.encode()[1:]

    @property
    def pause_s(self) -> float:
        """How long another attempt waits, in seconds, once one more has failed."""
        return min(math.ldexp(FIRST_PAUSE_S, self.attempts), LONGEST_PAUSE_S)


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """An account that went over one limit, once or several times within its window."""

    id: int
    account: str
    address: str
    limit: str
    metric: str
    window: str
    opened: float  # Unix seconds
    last: float  # of the latest excess
    excesses: int
    value: float  # the largest
    most: float
    usual: float | None
    then: str
    rating: int  # of that moment
    line: IncidentLine
    say: str  # what was decided, in words
    evidence: Mapping[str, object]
    idents: tuple[int, ...]
    taken_by: str = ""
    verdict: IncidentVerdict | None = None  # None: nobody has closed it
    verdict_by: str = ""
    closed: float = 0.0
    note: str = ""
