"""One connection of the proxy, and the one behind it to the next hop: how both begin, and how they
end.

The client hears the next hop's greeting, where he is not refused before; 421 of the next hop ends
both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from oborona.doors.arguments import peer_text
from oborona.doors.proxy import client_attributes, replies
from oborona.doors.proxy.next_hop import NextHopConnection, NextHopLost
from oborona.doors.proxy.session import ProxySession
from oborona.doors.proxy.transaction import ProxyTransaction
from oborona.doors.smtp.client import GOING
from oborona.doors.smtp.connection import SmtpConnection
from oborona.doors.smtp.replies import SmtpReply
from oborona.reputation.networks import plain
from oborona.types import Client

if TYPE_CHECKING:
    from oborona.doors.proxy.server import ProxyServer


LINGER_S: Final = 10.0


class ProxyConnectionBase(SmtpConnection):
    """One connection.

    Args:
        server: counts it, and has what it works with.
    """

    def __init__(self, server: ProxyServer) -> None:
        self._proxy = server
        self._settings = settings = server.settings
        self._link = NextHopConnection(settings)
        self._greeting = SmtpReply(220, ())
        self._greeted = self._early = False
        self._client = Client()  # by whom we were connected, or for whom he speaks since XCLIENT
        self._forwarded: dict[str, bytes] = {}  # of the next message, by XFORWARD
        self._tells = False  # the next hop is to hear of the client with each message
        self._helo = b""
        self._over_tls = False
        self._transaction: ProxyTransaction | None = None
        super().__init__(
            server,
            server.hooks,
            name=server.name,
            ident="",
            idle_s=settings.idle_s,
            max_message_bytes=settings.max_message_bytes,
            log=server.log,
            strict=settings.forbid_stray,
            min_data_rate=settings.min_data_rate,
        )

    @property
    def _between(self) -> bool:
        return not self._busy and self._transaction is None

    def close_if_between(self) -> None:
        """Close if no message is at hand, and say why."""
        if self._between and self.transport is not None:
            self._shut(replies.STOPPING)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See who is there, and begin to serve."""
        peer, us = (transport.get_extra_info(key) for key in ("peername", "sockname"))
        inet = isinstance(peer, tuple)
        address = plain(peer[0].partition("%")[0]) if inet else None
        self._trusted = address is None or address in self._proxy.trusted
        self._client = Client(ip=str(address), port=peer[1]) if address is not None else Client()
        self._asked = ProxySession(
            self._proxy.session(), self._proxy.guard, str(us[1]) if inet else ""
        )
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Note who speaks before he is greeted: no mail server does."""
        self._early = self._early or not self._greeted
        super().data_received(data)

    def _timeout_cb(self) -> None:
        """Close where nothing came for too long, and say so where somebody reads."""
        if self.transport is not None and not self._wire.get_write_buffer_size():
            self._shut(replies.SILENT)
        else:
            super()._timeout_cb()

    def _over(self, task: asyncio.Task[None]) -> None:
        super()._over(task)
        if self.transport is not None:  # he has so long to read his last word
            asyncio.get_running_loop().call_later(LINGER_S, self.cut)
        self._link.end()
        self._asked.close()

    async def _handle_client(self) -> None:
        if await self._open():
            self._greeted = True
            await super()._handle_client()

    async def _open(self) -> bool:
        """Find out who is there, whether he may, and what the next hop has to say.

        Return whether he is greeted.
        """
        with self._unhurried():
            refused = None
            if not self._trusted:
                self._client = await self._proxy.named(self._client)
                refused = await self._asked.connect(self._client)
            if refused is not None:
                self._proxy.note("refused")
                self._shut(_at_greeting(refused))
                return False
            try:
                greeting = await self._greet()
            except NextHopLost:
                self._lost()
                return False
        if greeting.code != 220:
            self._shut(greeting if greeting.code >= 400 else replies.AWAY)
            return False
        if self._early and not self._trusted:
            self._proxy.note("early")
            self._shut(replies.EARLY)
            return False
        self._greeting = greeting
        self.hostname, _, self.__ident__ = peer_text(greeting.lines[0][4:]).partition(" ")
        return True

    async def _greet(self) -> SmtpReply:
        """Return the next hop's greeting, of the client where it wants to know him: he was not
        heard of yet if he is nobody we trust.
        """
        greeting = await self._link.open()
        if greeting.code != 220 or self._trusted:
            return greeting
        await self._link.hello(self._verb, self._proxy.name.encode("ascii", "replace"))
        command = client_attributes.format_command(
            b"XCLIENT",
            client_attributes.attributes_of(self._client),
            self._link.offers.get("XCLIENT", b""),
        )
        if command is None:
            self._tells = True
            return greeting
        return await self._link.ask(command)

    # --- words ---

    @property
    def _verb(self) -> bytes:
        return b"LHLO" if self._settings.protocol == "lmtp" else b"EHLO"

    async def _push(self, *answers: SmtpReply) -> None:
        """Say answers; 421 is the last."""
        self._writer.write(b"".join(answer.wire for answer in answers))
        if any(answer.code == GOING for answer in answers):
            self._end()
        await self._writer.drain()

    async def _pass(self, command: bytes, *, turn: bool = False) -> SmtpReply | None:
        """Say a command to the next hop.

        Return its answer, None where it is lost, and the client has been told.
        """
        try:
            with self._unhurried():
                return await self._link.ask(command, turn=turn)
        except NextHopLost:
            self._lost()
            return None

    def _lost(self) -> None:
        self._proxy.note("lost")
        self._shut(replies.AWAY)

    def _shut(self, answer: SmtpReply) -> None:
        """Say the last word."""
        self._writer.write(answer.wire)
        self._end()

    def _end(self) -> None:
        """Close once what was written is out; what the client has said since is not heard."""
        assert self._handler_coroutine is not None
        if self.transport is not None:
            self.transport.close()
        if asyncio.current_task() is not self._handler_coroutine or self._greeted:
            self._handler_coroutine.cancel()

    @contextmanager
    def _unhurried(self) -> Iterator[None]:
        """The client waits for us, not we for him."""
        assert self._timeout_handle is not None
        self._timeout_handle.cancel()
        try:
            yield
        finally:
            if self.transport is not None and not self.transport.is_closing():
                self._reset_timeout()

    def _set_post_data_state(self) -> None:
        super()._set_post_data_state()  # type: ignore[no-untyped-call]
        self._transaction = None
        self._forwarded = {}

    def _abandon(self) -> None:
        """Whatever was said of a message holds no more."""
        if self._transaction is not None:
            self._transaction.abandon()
        self._set_post_data_state()


def _at_greeting(answer: SmtpReply) -> SmtpReply:
    """Return a refusal as it stands in the place of a greeting, where 4xx is 421 and 5xx is 554."""
    code = b"%d" % (GOING if answer.code < 500 else 554)
    return SmtpReply(int(code), tuple(code + line[3:] for line in answer.lines))
