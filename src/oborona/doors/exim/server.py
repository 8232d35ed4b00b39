"""The line protocol for Exim on the event loop: requests put to sessions one after the other, each
to one of its own.

Exim makes a connection for each question, asks, closes its side (unless told not to), and reads to
the end.  So an end of input is no end of the connection: what was asked is answered first.  And the
answer ends it, unless more was sent by then or is announced.  A connection that has asked nothing
yet is waited for, also by a worker that drains, for Exim would not ask again; both for a few
seconds only.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final

from oborona.doors.acceptor import Acceptor
from oborona.doors.context import DoorContext, failure_reply, guard_s, several_stages_guard_s
from oborona.doors.exim.answer import NOTHING, TOO_BUSY, answer_line, error_line
from oborona.doors.exim.codec import EximCodec, EximRequest, EximVerb
from oborona.doors.exim.question import question_of
from oborona.doors.guard import HandlerGuard, is_unanswered
from oborona.doors.handler import OneShotHandlerFactory
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.reply import SessionReply, is_busy
from oborona.doors.stream import StreamConnection, StreamServer
from oborona.doors.turned_away import busy_words, without_reference
from oborona.errors import PeerError

HALF_S: Final = 10.0  # Exim writes a request in one go, as soon as it is connected

log = logging.getLogger("oborona.exim")


async def start(at: DoorContext, listener: socket.socket) -> EximServer:
    """Serve the door as the settings want it."""
    door, work = at.settings.doors.exim, at.settings.worker
    server = EximServer(
        at.sessions,
        guard=HandlerGuard(failure_reply(work), max(guard_s(work), several_stages_guard_s(work))),
        limit_bytes=work.max_message_bytes,
        idle_s=door.idle_s,
        max_connections=door.max_connections,
        max_per_client=door.max_per_client,
        note=at.note,
        allowed=door.allowed,
        room=at.room,
        turned_away=at.turned_away,
    )
    await server.start(listener)
    return server


class EximServer(Acceptor):
    """Serves connections of one listening socket.

    Args:
        sessions: makes a session for each request.
        guard: asks it.
        limit_bytes: of a message that are kept.
        idle_s: seconds without a byte after which a connection is closed that has been answered.
        max_connections: at once; further ones are told that we are busy.
        max_per_client: of one client; 0: any number.
        note: counts what became of requests.
        half_s: seconds for a request to become whole, and for the peer to take its answers.
        allowed: networks whose clients may connect; empty: all.
        room: for all messages that come in or are judged.
        turned_away: what somebody is told who comes when the door is full, by address.
    """

    def __init__(
        self,
        sessions: OneShotHandlerFactory,
        *,
        guard: HandlerGuard,
        limit_bytes: int,
        idle_s: float,
        max_connections: int,
        max_per_client: int = 0,
        note: Callable[[str], None],
        half_s: float = HALF_S,
        allowed: str = "",
        room: MemoryBudget,
        turned_away: Callable[[str], SessionReply] = without_reference,
    ) -> None:
        super().__init__(
            idle_s=idle_s,
            max_sessions=max_connections,
            log=log,
            max_per_client=max_per_client,
            busy=busy_words(turned_away, answer_line),
            note=note,
            allowed=allowed,
        )
        self._handler = _EximRequestHandler(sessions, guard, limit_bytes, note)
        self._half_s = half_s
        self._room = room

    def _connection(self) -> StreamConnection:
        return _EximConnection(self, self._handler, self._room, half_s=self._half_s)


class _EximRequestHandler:
    """Has requests answered, each by a session of its own."""

    def __init__(
        self,
        sessions: OneShotHandlerFactory,
        guard: HandlerGuard,
        limit_bytes: int,
        note: Callable[[str], None],
    ) -> None:
        self._sessions = sessions
        self._guard = guard
        self.limit_bytes = limit_bytes
        self.note = note

    def busy(self) -> bytes:
        """Return the line that answers a request for which there was no room."""
        self.note("busy")
        return TOO_BUSY

    async def answer(self, request: EximRequest) -> bytes:
        """Return the line that answers a request.

        Raises:
            PeerError: it makes no sense.
        """
        if request.word is EximVerb.PING:
            return NOTHING
        asks = question_of(request, self.limit_bytes)
        session = self._sessions()
        try:
            if asks.message is None:
                reply = await self._guard.ask(
                    session.glance(
                        asks.stage, asks.envelope, asks.port, after=asks.after, reached=asks.reached
                    )
                )
            else:
                reply = await self._guard.judged(
                    session.whole(asks.envelope, asks.message, asks.port), session, asks.message
                )
        finally:
            HandlerGuard.tell(session.close)
        if reply is self._guard.failure:
            self.note("failed")
            return error_line("internal failure")
        self.note("busy" if is_busy(reply) else "failed" if is_unanswered(reply) else "answered")
        return answer_line(reply)


class _EximConnection(StreamConnection):
    """One connection, of one question as a rule."""

    def __init__(
        self,
        server: StreamServer,
        request_handler: _EximRequestHandler,
        room: MemoryBudget,
        *,
        half_s: float,
    ) -> None:
        super().__init__(server, log, half_s=half_s)
        self._handler = request_handler
        self._codec = EximCodec(request_handler.limit_bytes)
        self._held = room.hold()
        self._fresh = True  # nothing was asked yet
        self._ended = False  # the peer has closed its side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._half = self._loop.call_later(self._half_s, self._too_late)

    def eof_received(self) -> bool:
        """Answer what was asked, if the peer will ask no more."""
        self._ended = True
        if self._worker is None:
            self._end()
        return True  # the connection stays open in our direction

    @property
    def _between(self) -> bool:
        return not self._partial

    @property
    def _partial(self) -> bool:
        return self._fresh or self._codec.partial

    async def _take(self, data: bytes) -> None:
        more = False
        try:
            for request in self._codec.feed(data):
                self._whole()
                self._fresh = False
                more = request is not None and request.more
                self._transport.write(
                    self._handler.busy() if request is None else await self._handler.answer(request)
                )
                self._held.leave()
                await self._wait_until_read()
                if self._closing:
                    return
            if not self._held.grow(self._codec.kept):  # its sender hears so once all of it has come
                self._codec.drop()
                self._held.leave()
        except PeerError as error:
            self._refuse(str(error))
            raise
        if not self._inbox and (self._ended or not (more or self._partial)):
            self._end()

    def _end(self) -> None:
        """Close, after the peer's last word."""
        if self._codec.partial:
            log.warning("connection closed: it ended within a request")
            self._refuse("half a request")
        self._close()

    def _refuse(self, reason: str) -> None:
        self._handler.note("broken")
        self._transport.write(error_line(reason))

    def _too_late(self) -> None:
        self._handler.note("timeout")
        super()._too_late()

    def _farewell(self) -> None:
        """Give back what half a request held."""
        self._held.leave()
