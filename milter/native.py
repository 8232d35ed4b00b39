"""The native transport: the milter protocol on the event loop itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

from oborona.doors.acceptor import Acceptor
from oborona.doors.guard import GUARD_S, HandlerGuard
from oborona.doors.handler import ConnectionHandlerFactory
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.reply import ReplyAction
from oborona.milter.connection import MilterConnection

log = logging.getLogger("oborona.milter")


class NativeServer(Acceptor):
    """Serves milter connections of one listening socket.

    Args:
        handler_factory: makes the door of each connection.
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
        handler_factory: ConnectionHandlerFactory,
        *,
        limit_bytes: int,
        room: MemoryBudget,
        idle_s: float,
        max_sessions: int,
        on_failure: ReplyAction,
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
        self.handler_factory = handler_factory
        self.limit_bytes = limit_bytes
        self.room = room
        self.note = note
        self.guard = HandlerGuard(on_failure, guard_s)

    def _connection(self) -> MilterConnection:
        return MilterConnection(self)
