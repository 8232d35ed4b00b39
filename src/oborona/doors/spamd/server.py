"""The door `spamd` on the event loop: one request a connection, in the protocol of spamd or of an
old rspamd; its first line tells which.

The end of input is no end of the connection: clients close their half and wait.  A message that is
not wanted any more is heard out for a moment, for its sender would otherwise see a broken
connection and not our answer.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from oborona.doors.acceptor import Acceptor
from oborona.doors.context import DoorContext, failure_reply, guard_s
from oborona.doors.guard import HandlerGuard
from oborona.doors.handler import OneShotHandlerFactory
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.reply import SessionReply, is_busy, refused_hold
from oborona.doors.spamd import rspamc, spamc, tell_feedback
from oborona.doors.spamd.codec import SpamdCodec, SpamdCommand, SpamdRequest
from oborona.doors.spamd.request import TrustOptions, message_to_scan
from oborona.doors.stream import StreamConnection, StreamServer
from oborona.doors.turned_away import busy_words, without_reference
from oborona.errors import PeerError
from oborona.feedback.events.model import FeedbackEvent

HEAR_OUT_S: Final = 5.0  # what is still being sent after the answer

log = logging.getLogger("oborona.spamd")


async def start(at: DoorContext, listener: socket.socket) -> SpamdServer:
    """Serve the door as the settings want it."""
    door, work, site = at.settings.doors.spamd, at.settings.worker, at.settings.site
    ports = site.submission_ports.split()
    request_handler = SpamdRequestHandler(
        sessions=at.sessions,
        guard=HandlerGuard(failure_reply(work), guard_s(work)),
        believing=TrustOptions(
            received=door.received,
            person=at.settings.intake.person,
            submission_port=ports[0] if ports else "",
            limit_bytes=work.max_message_bytes,
        ),
        name=at.name,
        scale=door.scale,
        tell=door.tell,
        key=at.signing_key,
        keep=at.keep,
        note=at.note,
    )
    server = SpamdServer(
        request_handler,
        idle_s=door.idle_s,
        request_s=door.request_s,
        max_connections=door.max_connections,
        max_per_client=door.max_per_client,
        allowed=door.allowed,
        room=at.room,
        turned_away=at.turned_away,
    )
    await server.start(listener)
    return server


class SpamdRequestHandler(msgspec.Struct, frozen=True, kw_only=True):
    """What answers requests, for all connections of the door."""

    sessions: OneShotHandlerFactory
    guard: HandlerGuard
    believing: TrustOptions
    name: str  # ours, authserv-id
    scale: float  # of points, for clients of spamd
    tell: bool  # feedback is taken
    key: bytes  # of the site, for signatures
    # writes feedback down; tells whether it is on the disk
    keep: Callable[[FeedbackEvent], Awaitable[bool]]
    note: Callable[[str], None]  # counts what became of requests

    async def answer(self, request: SpamdRequest) -> bytes:
        """Return the answer to a request.

        Raises:
            PeerError: it makes no sense.
        """
        match request.command:
            case SpamdCommand.SKIP:
                return b""
            case SpamdCommand.PING:
                return rspamc.PONG if request.rspamd else spamc.PONG
            case _ if request.rspamd and request.command not in rspamc.KNOWN:
                raise PeerError(f"rspamd has no {request.command}")
            case SpamdCommand.TELL:
                return await self._hear(request)
        return await self._judge(request)

    async def _judge(self, request: SpamdRequest) -> bytes:
        tells = message_to_scan(request, self.believing)
        # SpamAssassin's protocol has no word for it; rspamd's has one, which etc/exim knows
        envelope = msgspec.structs.replace(tells.envelope, holds=request.rspamd)
        session = self.sessions()
        try:
            reply = await self.guard.judged(
                session.whole(envelope, tells.message, tells.port), session, tells.message
            )
        finally:
            HandlerGuard.tell(session.close)
        self.note(
            "answered" if reply.judged is not None else "busy" if is_busy(reply) else "failed"
        )
        if request.rspamd:
            return rspamc.rspamc_answer(request, reply, self.name)
        return spamc.spamc_answer(request, tells, refused_hold(reply), self.name, self.scale)

    async def _hear(self, request: SpamdRequest) -> bytes:
        if not self.tell:
            self.note("unauthorized")
            return tell_feedback.FORBIDDEN
        result = tell_feedback.tell_result(
            request, key=self.key, template=self.believing.person, now=time.time()
        )
        if result.event is None:
            self.note("refused")
            return result.refusal
        if not await self.keep(result.event):
            self.note("failed")
            return tell_feedback.NOT_WRITTEN
        self.note("told")
        return tell_feedback.tell_done_answer(request)


class SpamdServer(Acceptor):
    """Serves connections of one listening socket.

    Args:
        request_handler: answers requests.
        idle_s: seconds without a byte after which a connection is closed.
        request_s: seconds for a request to become whole, and for the peer to take its answer.
        max_connections: at once; further ones are told that we are busy.
        max_per_client: of one client; 0: any number.
        allowed: networks whose clients may connect; empty: all.
        room: for all messages that come in or are judged.
        turned_away: what somebody is told who comes when the door is full, by address.
    """

    def __init__(
        self,
        request_handler: SpamdRequestHandler,
        *,
        idle_s: float,
        request_s: float,
        max_connections: int,
        max_per_client: int = 0,
        allowed: str = "",
        room: MemoryBudget,
        turned_away: Callable[[str], SessionReply] = without_reference,
    ) -> None:
        super().__init__(
            idle_s=idle_s,
            max_sessions=max_connections,
            log=log,
            max_per_client=max_per_client,
            busy=busy_words(turned_away, spamc.busy_answer),
            note=request_handler.note,
            allowed=allowed,
        )
        self._handler = request_handler
        self._request_s = request_s
        self._room = room

    def _connection(self) -> StreamConnection:
        return _SpamdConnection(self, self._handler, self._room, request_s=self._request_s)


class _SpamdConnection(StreamConnection):
    """One request."""

    def __init__(
        self,
        server: StreamServer,
        request_handler: SpamdRequestHandler,
        room: MemoryBudget,
        *,
        request_s: float,
    ) -> None:
        super().__init__(server, log, half_s=request_s)
        self._handler = request_handler
        self._codec = SpamdCodec(request_handler.believing.limit_bytes)
        self._held = room.hold()
        self._ended = False  # the client says no more
        self._answered = False

    def eof_received(self) -> bool:
        """The client has said all; our side stays open for the answer."""
        self._ended = True
        self.data_received(b"")
        return True

    @property
    def _between(self) -> bool:
        # who has just come has its request on the way, and would not ask again
        return self._answered

    @property
    def _partial(self) -> bool:
        return self._codec.begun and not self._codec.done

    async def _take(self, data: bytes) -> None:
        if self._answered:
            if self._ended:
                self._close()
            return
        try:
            request = self._codec.feed(data)
            if request is None and self._ended and not self._inbox:
                request = self._codec.end()
            if not self._held.grow(self._codec.kept if request is None else len(request.raw)):
                self._put_off()
                return
            if request is None:
                if self._ended and not self._inbox:  # it came and went
                    self._close()
                return
            self._whole()
            answer = await self._handler.answer(request)
        except PeerError as error:
            log.warning("a request is of no use: %s", error)
            self._handler.note("broken")
            self._whole()
            words = f"Bad request: {error}"
            answer = (
                rspamc.error_answer(words)
                if self._codec.rspamd
                else spamc.error_answer(spamc.PROTOCOL, words)
            )
        self._say(answer)

    def _put_off(self) -> None:
        """There is no room for what comes: let it go, and say so."""
        self._whole()
        self._held.leave()
        self._codec.drop()
        self._handler.note("busy")
        self._say(rspamc.TOO_BUSY if self._codec.rspamd else spamc.TOO_BUSY)

    def _say(self, answer: bytes) -> None:
        """Answer; then close, if the client has said all, else hear it out."""
        self._answered = True
        self._transport.write(answer)
        if self._ended:
            self._close()
            return
        if not self._transport.is_closing():
            self._transport.write_eof()
        self._half = self._loop.call_later(HEAR_OUT_S, self._close)

    def _too_late(self) -> None:
        super()._too_late()
        self._handler.note("timeout")

    def _farewell(self) -> None:
        """Give back what the request held."""
        self._held.leave()
