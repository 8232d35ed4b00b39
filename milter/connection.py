"""One connection of the native transport: milter events in order, a door asked at stages, one write
per answer.

Headers and body are gathered here, without a step of the door.  A mail server that breaks the
protocol loses its connection, as libmilter does it; its own default action decides then.  A command
out of turn is such a break too: ignored, as libmilter does, it would leave the mail server waiting.

Known limits: after SMFIC_QUIT_NC the terms of the connection stay, so a policy that begins to
refuse at an earlier stage does so on connections made after that.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from oborona.doors.guard import HandlerGuard
from oborona.doors.handler import ConnectionHandler, ConnectionHandlerFactory
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.raw_message import RawMessageBuilder
from oborona.doors.reply import CONTINUE, ReplyAction, SessionReply
from oborona.doors.stream import StreamConnection, StreamServer
from oborona.errors import PeerError
from oborona.milter import codec, encoder
from oborona.milter.protocol import STAGE_OF, MilterTerms, agree

log = logging.getLogger("oborona.milter")


class MilterConnectionServer(StreamServer, Protocol):
    """What a connection needs of its server."""

    handler_factory: ConnectionHandlerFactory
    guard: HandlerGuard
    limit_bytes: int
    room: MemoryBudget

    def note(self, outcome: str) -> None:
        """Count what became of a message that nobody judged."""
        ...


class MilterConnection(StreamConnection):
    """One milter connection."""

    _door: ConnectionHandler

    def __init__(self, server: MilterConnectionServer) -> None:
        super().__init__(server, log)
        self._server = server
        self._guard = server.guard
        self._codec = codec.MilterCodec()
        self._gather = RawMessageBuilder(server.limit_bytes, server.room.hold())
        self._terms: MilterTerms | None = None  # the door exists from here on
        self._leading_space = False
        self._connected = False
        self._in_message = False
        self._messages = 0

    @property
    def _between(self) -> bool:
        """A message is done and no other has begun."""
        return self._messages > 0 and not self._in_message

    async def _take(self, data: bytes) -> None:
        for event in self._codec.feed(data):
            if not self._note(event):
                await self._ask(event)
            if self._closing:
                return

    def _farewell(self) -> None:
        """Tell the door that all is over."""
        if self._terms is not None:
            self._end_message_unjudged()
            self._guard.tell(self._door.close)

    def _note(self, event: codec.MilterEvent) -> bool:
        """Take an event that no door has to answer; return whether it was one."""
        if self._terms is None:
            if not isinstance(event, codec.Negotiate):
                raise PeerError("milter commands before the negotiation")
            self._negotiate(event)
            return True
        match event:
            case codec.MilterHeader():
                if not self._in_message:
                    raise PeerError("a milter command outside a message")
                self._gather.header(event.name, event.value, leading_space=self._leading_space)
                if b"L" in self._terms.answers:
                    self._nod(b"L")
            case codec.BodyChunk():
                self._within_message()
                self._gather.body(event.chunk)
                self._nod(b"B", skip=self._terms.skip and self._gather.full)
            case codec.MilterMacros():
                self._guard.tell(self._door.learn, event.values)
            case codec.DataCommand():
                self._nod(b"T")
            case codec.EndOfHeaders():
                self._nod(b"N")
            case codec.UnknownCommand():
                self._nod(b"U")
            case codec.Abort():
                self._end_message_unjudged()
            case codec.QuitAndReuse():
                self._end_message_unjudged()
                self._guard.tell(self._door.close)
                self._door = self._server.handler_factory()
                self._tell_terms(self._terms)
                self._connected = False
            case codec.Quit():
                self._close()
            case codec.Negotiate():
                raise PeerError("a second milter negotiation")
            case _:
                return False
        return True

    async def _ask(self, event: codec.MilterEvent) -> None:
        """Put an event to the door and give its answer to the mail server."""
        door = self._door
        match event:
            case codec.Connect(client):
                if self._connected:
                    raise PeerError("a second client on one milter connection")
                self._connected = True
                await self._stage(b"C", door.connect(client))
            case codec.Helo(name):
                self._end_message_unjudged()
                await self._stage(b"H", door.helo(name))
            case codec.MailFrom(sender, params):
                self._end_message_unjudged()
                self._in_message = True
                reply = await self._stage(b"M", door.mail(sender, params))
                self._in_message = reply.answer is ReplyAction.CONTINUE
            case codec.RcptTo(recipient, params):
                self._within_message()
                reply = await self._stage(b"R", door.rcpt(recipient, params))
                self._in_message = reply.answer is not ReplyAction.ACCEPT
            case codec.EndOfMessage(chunk):
                self._within_message()
                await self._end(door, chunk)

    def _negotiate(self, offer: codec.Negotiate) -> None:
        self._door = self._server.handler_factory()
        try:
            self._terms = agree(offer.version, offer.actions, offer.protocol, self._door.waits)
        except PeerError:
            self._guard.tell(self._door.close)
            raise
        self._leading_space = self._terms.leading_space
        self._tell_terms(self._terms)
        if not self._terms.edits:
            log.warning(
                "the mail server lets headers alone (actions %#x): messages go unmarked",
                offer.actions,
            )
        self._transport.write(encoder.terms(self._terms))

    def _tell_terms(self, terms: MilterTerms) -> None:
        if not terms.holds:
            self._guard.tell(self._door.refuse_holds)

    async def _stage(
        self, command: bytes, question: Coroutine[Any, Any, SessionReply]
    ) -> SessionReply:
        """Ask the door; return its reply where the mail server heard it, CONTINUE elsewhere."""
        assert self._terms is not None
        if STAGE_OF[command] in self._terms.waits:
            reply = await self._guard.ask(question)
            self._transport.write(encoder.answer(reply))
            return reply
        self._nod(command)
        await self._guard.ask(question)
        return CONTINUE

    async def _end(self, door: ConnectionHandler, chunk: bytes) -> None:
        """Have the message judged and answer."""
        assert self._terms is not None
        if chunk:
            self._gather.body(chunk)
        if self._gather.crowded:
            reply = self._guard.put_off(door, busy=True)
            self._guard.tell(door.abort)
            self._server.note("busy")
        else:
            message = self._gather.finish()
            reply = await self._guard.judged(door.end_of_message(message), door, message)
        self._transport.write(encoder.verdict(reply, self._terms))
        self._gather.reset()
        self._in_message = False
        self._messages += 1

    def _nod(self, command: bytes, *, skip: bool = False) -> None:
        """Answer "go on" to a mail server that waits for it."""
        assert self._terms is not None
        if command in self._terms.answers:
            self._transport.write(encoder.SKIP if skip else encoder.CONTINUE)

    def _within_message(self) -> None:
        if not self._in_message:
            raise PeerError("a milter command outside a message")

    def _end_message_unjudged(self) -> None:
        self._gather.reset()
        if self._in_message:
            self._in_message = False
            self._guard.tell(self._door.abort)
