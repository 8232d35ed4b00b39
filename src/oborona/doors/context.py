"""What a worker gives to its doors, and the interface that it expects of them.

Also the time that a session may take before a door answers in its place.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from oborona.config import Settings, WorkerSettings
from oborona.dns import DnsAsker
from oborona.doors.handler import SessionHandlerFactory
from oborona.doors.login_attempt import LoginAttempt, LoginObserver
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.reply import ReplyAction, SessionReply
from oborona.doors.turned_away import without_reference
from oborona.feedback.events.model import FeedbackEvent
from oborona.policy.load import Policy
from oborona.policy.tables import SLOWEST_S

# a transport waits this much longer than a session may take: the session answers first
GUARD_AFTER_S: Final = 5.0
STAGES_AT_ONCE: Final = 3  # that one question may be the first word of: connect, sender, recipient


class DoorServer(Protocol):
    """What serves a door in a worker's loop."""

    async def drain(self, grace_s: float) -> None:
        """Take no new connections, end those that are idle, wait for the others, cut them after the
        grace.

        The listening socket is not used any more from its first await on.
        """
        ...


class DoorContext(NamedTuple):
    """What a worker has for a door."""

    settings: Settings
    sessions: SessionHandlerFactory
    asker: Callable[[], DnsAsker]  # of the DNS, with the budget of one connection
    name: str  # ours, as others see it
    state: Path  # folder of the stores
    signing_key: bytes  # of X-Mras-Id
    note: Callable[
        [str], None
    ]  # counts what became of a request or a connection, under a short name, for metrics
    keep: Callable[
        [FeedbackEvent], Awaitable[bool]
    ]  # writes down what somebody says of a message; tells whether it is on the disk
    logins: LoginObserver  # is told of logins that fail
    policy: Callable[[], Policy]  # in force
    # returns what was counted of an address's messages in two weeks, by metric
    count_address: Callable[[str], Awaitable[dict[str, int]]]
    room: MemoryBudget  # for messages that come in or are judged
    # returns what somebody is told who comes when the door is full, by address, and records it
    turned_away: Callable[[str], SessionReply] = without_reference
    # records who logged in or could not, in the log of events; where there is none, nothing
    record_login: Callable[[LoginAttempt], None] = lambda _attempt: None


StartDoor = Callable[[DoorContext, socket.socket], Awaitable[DoorServer]]


def failure_reply(work: WorkerSettings) -> ReplyAction:
    """Return what is answered where a session gives no answer."""
    return ReplyAction.TEMPFAIL if work.on_failure == "tempfail" else ReplyAction.CONTINUE


def guard_s(work: WorkerSettings) -> float:
    """Return how long a session may take over one command or one message, in seconds."""
    return max(work.deadline_s, work.command_deadline_s + SLOWEST_S) + GUARD_AFTER_S


def several_stages_guard_s(work: WorkerSettings) -> float:
    """Return how long a session may take over a question that is several stages at once, in
    seconds; it slows a client down once.
    """
    return STAGES_AT_ONCE * work.command_deadline_s + SLOWEST_S + GUARD_AFTER_S
