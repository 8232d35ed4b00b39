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
from oborona.doors.context import Premises, failure, guard_s
from oborona.doors.guard import Guard
from oborona.doors.handler import OnceFactory
from oborona.doors.reply import busy
from oborona.doors.room import Room
from oborona.doors.spamd import rspamc, spamc, telling
from oborona.doors.spamd.codec import Codec, Command, Request
from oborona.doors.spamd.told import Believing, told
from oborona.doors.stream import Counting, Stream
from oborona.errors import PeerError
from oborona.feedback.events.model import Event

HEAR_OUT_S: Final = 5.0  # what is still being sent after the answer

log = logging.getLogger("oborona.spamd")


async def start(at: Premises, listener: socket.socket) -> SpamdServer:
    """Serve the door as the settings want it."""
    asked, work, site = at.settings.doors.spamd, at.settings.worker, at.settings.site
    ports = site.submission_ports.split()
    desk = Desk(
        sessions=at.sessions,
        guard=Guard(failure(work), guard_s(work)),
        believing=Believing(
            received=asked.received,
            person=at.settings.intake.person,
            submission_port=ports[0] if ports else "",
            limit_bytes=work.max_message_bytes,
        ),
        name=at.name,
        scale=asked.scale,
        tell=asked.tell,
        key=at.signing_key,
        keep=at.keep,
        note=at.note,
    )
    server = SpamdServer(
        desk,
        idle_s=asked.idle_s,
        request_s=asked.request_s,
        max_connections=asked.max_connections,
        max_per_client=asked.max_per_client,
        allowed=asked.allowed,
        room=at.room,
    )
    await server.start(listener)
    return server


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """What answers requests, for all connections of the door."""

    sessions: OnceFactory
    guard: Guard
    believing: Believing
    name: str  # ours, authserv-id
    scale: float  # of points, for clients of spamd
    tell: bool  # feedback is taken
    key: bytes  # of the site, for signatures
    # writes feedback down; tells whether it is on the disk
    keep: Callable[[Event], Awaitable[bool]]
    note: Callable[[str], None]  # counts what became of requests

    async def answer(self, request: Request) -> bytes:
        """Return the answer to a request.

        Raises:
            PeerError: it makes no sense.
        """
        match request.command:
            case Command.SKIP:
                return b""
            case Command.PING:
                return rspamc.PONG if request.rspamd else spamc.PONG
            case _ if request.rspamd and request.command not in rspamc.KNOWN:
                raise PeerError(f"rspamd has no {request.command}")
            case Command.TELL:
                return await self._hear(request)
        return await self._judge(request)

    async def _judge(self, request: Request) -> bytes:
        tells = told(request, self.believing)
        session = self.sessions()
        try:
            reply = await self.guard.judged(
                session.whole(tells.envelope, tells.message, tells.port), session, tells.message
            )
        finally:
            Guard.tell(session.close)
        self.note("answered" if reply.judged is not None else "busy" if busy(reply) else "failed")
        if request.rspamd:
            return rspamc.answer(request, reply, self.name)
        return spamc.answer(request, tells, reply, self.name, self.scale)

    async def _hear(self, request: Request) -> bytes:
        if not self.tell:
            self.note("unauthorized")
            return telling.FORBIDDEN
        said = telling.telling(
            request, key=self.key, template=self.believing.person, now=time.time()
        )
        if said.event is None:
            self.note("refused")
            return said.refusal
        if not await self.keep(said.event):
            self.note("failed")
            return telling.NOT_WRITTEN
        self.note("told")
        return telling.done(request)


class SpamdServer(Acceptor):
    """Serves connections of one listening socket.

    Args:
        desk: answers requests.
        idle_s: seconds without a byte after which a connection is closed.
        request_s: seconds for a request to become whole, and for the peer to take its answer.
        max_connections: at once; further ones are told that we are busy.
        max_per_client: of one client; 0: any number.
        allowed: networks whose clients may connect; empty: all.
        room: for all messages that come in or are judged.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        idle_s: float,
        request_s: float,
        max_connections: int,
        max_per_client: int = 0,
        allowed: str = "",
        room: Room,
    ) -> None:
        super().__init__(
            idle_s=idle_s,
            max_sessions=max_connections,
            log=log,
            max_per_client=max_per_client,
            busy=spamc.TOO_BUSY,
            note=desk.note,
            allowed=allowed,
        )
        self._desk = desk
        self._request_s = request_s
        self._room = room

    def _connection(self) -> Stream:
        return _Connection(self, self._desk, self._room, request_s=self._request_s)


class _Connection(Stream):
    """One request."""

    def __init__(self, server: Counting, desk: Desk, room: Room, *, request_s: float) -> None:
        super().__init__(server, log, half_s=request_s)
        self._desk = desk
        self._codec = Codec(desk.believing.limit_bytes)
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
            answer = await self._desk.answer(request)
        except PeerError as error:
            log.warning("a request is of no use: %s", error)
            self._desk.note("broken")
            self._whole()
            words = f"Bad request: {error}"
            answer = (
                rspamc.trouble(words)
                if self._codec.rspamd
                else spamc.trouble(spamc.PROTOCOL, words)
            )
        self._say(answer)

    def _put_off(self) -> None:
        """There is no room for what comes: let it go, and say so."""
        self._whole()
        self._held.leave()
        self._codec.drop()
        self._desk.note("busy")
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
        self._desk.note("timeout")

    def _farewell(self) -> None:
        """Give back what the request held."""
        self._held.leave()
