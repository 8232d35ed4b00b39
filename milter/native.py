"""The native transport: the milter protocol on the event loop itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

from oborona.doors.acceptor import Acceptor
from oborona.doors.guard import GUARD_S, Guard
from oborona.doors.handler import DoorFactory
from oborona.doors.reply import Answer
from oborona.doors.room import Room
from oborona.milter.connection import Connection

log = logging.getLogger("oborona.milter")


class NativeServer(Acceptor):
    """Serves milter connections of one listening socket.

    Args:
        door_factory: makes the door of each connection.
        limit_bytes: what is kept of one message.
        room: for all messages that come in or are judged.
        idle_s: seconds without a byte after which a connection is closed.
        max_sessions: connections at once; further ones wait.
        on_failure: the answer when a door raises or hangs, CONTINUE or TEMPFAIL.
        guard_s: seconds that a door has for one answer.
        max_per_client: connections at once of one client; further ones are closed.
        note: counts these.
        allowed: networks whose clients may connect; empty: all.
    """

    def __init__(
        self,
        door_factory: DoorFactory,
        *,
        limit_bytes: int,
        room: Room,
        idle_s: float,
        max_sessions: int,
        on_failure: Answer,
        guard_s: float = GUARD_S,
        max_per_client: int = 0,
        note: Callable[[str], None] = lambda _outcome: None,
        allowed: str = "",
    ) -> None:
        super().__init__(
            idle_s=idle_s,
            max_sessions=max_sessions,
            log=log,
            max_per_client=max_per_client,
            note=note,
            allowed=allowed,
        )
        self.door_factory = door_factory
        self.limit_bytes = limit_bytes
        self.room = room
        self.note = note
        self.guard = Guard(on_failure, guard_s)

    def _connection(self) -> Connection:
        return Connection(self)
