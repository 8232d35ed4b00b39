"""The doors of a worker as the settings open them: where each listens, and what serves it.

Each door is one line in `OPEN`: its name in the settings, what starts it in a worker's loop, and whether messages come by it.  The delivery door, which
judges nothing, is not among them.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from oborona.config import Door, Settings, Work
from oborona.feedback.events.model import Event
from oborona.milter.door import AskedFactory
from oborona.milter.libmilter import LibmilterServer
from oborona.milter.native import NativeServer
from oborona.milter.policy_service.server import PolicyServer
from oborona.milter.reply import Answer
from oborona.policy.tables import SLOWEST_S

GUARD_AFTER_S: Final = (
    5.0  # a transport waits this much longer than a session may take: the session answers first
)
STAGES_AT_ONCE: Final = (
    3  # that one request of the policy service may be the first word of: connect, sender, recipient
)


class Server(Protocol):
    """What serves a door in a worker's loop."""

    async def drain(self, grace_s: float) -> None:
        """Take no new connections, end those that are idle, wait for the others, cut them after the grace.

        The listening socket is not used any more from its first await on.
        """
        ...


class Premises(NamedTuple):
    """What a worker has for a door."""

    settings: Settings
    sessions: AskedFactory
    name: str  # ours, as others see it
    state: Path  # folder of the stores
    signing_key: bytes  # of X-Mras-Id
    note: Callable[[str], None]  # counts what became of a request or a connection, under a short name, for metrics
    keep: Callable[[Event], Awaitable[bool]]  # writes down what somebody says of a message; tells whether it is on the disk


Start = Callable[[Premises, socket.socket], Awaitable[Server]]


class Entrance(NamedTuple):
    """A listening socket and what serves it."""

    listener: socket.socket  # this process's copy; closed when draining has begun
    name: str  # of the door, in settings and metrics
    start: Start  # in the loop
    content: bool = True  # messages come by it, not their envelopes alone


async def _milter(at: Premises, listener: socket.socket) -> Server:
    asked, work = at.settings.doors.milter, at.settings.worker
    transport = LibmilterServer if asked.transport == "libmilter" else NativeServer
    server = transport(
        at.sessions,
        limit_bytes=work.max_message_bytes,
        idle_s=asked.idle_s,
        max_sessions=asked.max_connections,
        on_failure=failure(work),
        guard_s=guard_s(work),
    )
    await server.start(listener)
    return server


async def _policy_service(at: Premises, listener: socket.socket) -> Server:
    asked = at.settings.doors.policy_service
    server = PolicyServer(
        at.sessions,
        idle_s=asked.idle_s,
        max_connections=asked.max_connections,
        guard_s=policy_service_guard_s(at.settings.worker),
    )
    await server.start(listener)
    return server


OPEN: Final[tuple[tuple[str, Start, bool], ...]] = (
    ("milter", _milter, True),
    ("policy_service", _policy_service, False),
)


def opened(settings: Settings) -> Iterator[tuple[str, Door]]:
    """Yield the doors that are open, with their names."""
    for name, _, _ in OPEN:
        door: Door = getattr(settings.doors, name)
        if door.listen:
            yield name, door


def entrances(settings: Settings, listen: Callable[[Door], socket.socket]) -> list[Entrance]:
    """Open the sockets of the doors, in the order of their names above.

    Args:
        settings: all of them.
        listen: opens one.

    Raises:
        SocketError: one can't be opened.
    """
    return [
        Entrance(listen(getattr(settings.doors, name)), name, start, content)
        for name, start, content in OPEN
        if getattr(settings.doors, name).listen
    ]


def failure(work: Work) -> Answer:
    """Return what is answered where a session gives no answer."""
    return Answer.TEMPFAIL if work.on_failure == "tempfail" else Answer.CONTINUE


def guard_s(work: Work) -> float:
    """Return how long a session may take over one command or one message, in seconds."""
    return max(work.deadline_s, work.command_deadline_s + SLOWEST_S) + GUARD_AFTER_S


def policy_service_guard_s(work: Work) -> float:
    """Return how long a session may take over one request of the policy service, in seconds; it slows a client down once."""
    return STAGES_AT_ONCE * work.command_deadline_s + SLOWEST_S + GUARD_AFTER_S
