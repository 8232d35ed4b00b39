"""One client of the proxy: each command passed on to the next hop, and the next hop's answer passed
back.

aiosmtpd reads the commands and keeps their order; none goes on as it was written, but made anew of
what it says, so that nothing can hide in it.  The client hears the next hop's words; our own are a
session's refusals, and what is said where the next hop says nothing.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from oborona.doors.proxy import replies
from oborona.doors.proxy.handshake import ProxyHandshake
from oborona.doors.proxy.next_hop import NextHopLost
from oborona.doors.proxy.replies import NOT_HERE, ORDER, SYNTAX
from oborona.doors.proxy.transaction import ProxyTransaction
from oborona.doors.smtp.connection import CROWDED, TOO_LARGE, octets
from oborona.doors.smtp.paths import parse_path
from oborona.doors.smtp.replies import SmtpReply, own_reply
from oborona.doors.smtp.spooled_message import SpooledMessage

_WORDS: Final = re.compile(rb"[ -~\x80-\xff]*")


class ProxyConnection(ProxyHandshake):
    """One connection.

    Args:
        server: counts it, and has what it works with.
    """

    async def smtp_MAIL(self, arg: str | None) -> None:  # noqa: N802
        """Begin a message."""
        if await self.check_helo_needed(self._verb.decode()):
            return
        named = parse_path(octets(arg), b"FROM:")
        if self._transaction is not None:
            await self._push(ORDER)
            return
        size = named.parameters.get("SIZE", b"0") if named is not None else b""
        if named is None or not size.isdigit() or len(size) > 20:
            await self._push(SYNTAX)
            return
        if int(size) > self._settings.max_message_bytes:
            await self._push(TOO_LARGE)
            return
        begun = ProxyTransaction(
            self._link, self._asked, self._settings, self._proxy.limit_bytes, self._proxy.note
        )
        try:
            with self._unhurried():
                answer = await begun.begin(named, self._speaker(), self._forward())
        except NextHopLost:
            self._lost()
            return
        if answer.good:
            self._transaction = begun
        else:
            self._forwarded = {}
        await self._push(answer)

    async def smtp_RCPT(self, arg: str | None) -> None:  # noqa: N802
        """Take one recipient, if the next hop does and the session does."""
        named = parse_path(octets(arg), b"TO:")
        if self._transaction is None:
            await self._push(ORDER)
        elif named is None or not named.address:
            await self._push(SYNTAX)
        else:
            try:
                with self._unhurried():
                    answer = await self._transaction.add(named)
            except NextHopLost:
                self._lost()
                return
            await self._push(answer)

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802
        """Take the message, have it judged, hand it on, and say what the next hop says."""
        if arg:
            await self._push(SYNTAX)
        elif self._transaction is None:
            await self._push(ORDER)
        elif not self._transaction.recipients:
            await self._push(replies.NOBODY)
        else:
            self._busy = True
            try:
                await self._content(self._transaction)
            except Exception:
                self._break_off()
                raise
            finally:
                self._busy = False
            if self._server.draining and self.transport is not None:
                self._shut(replies.STOPPING)

    async def _content(self, transaction: ProxyTransaction) -> None:
        await self._push(SmtpReply(354, (b"354 End data with <CR><LF>.<CR><LF>",)))
        with (
            SpooledMessage(
                self._proxy.spool, limit_bytes=self._settings.max_message_bytes
            ) as message,
            self._proxy.room.hold() as reservation,
        ):
            try:
                async with asyncio.timeout(self._settings.transfer_s):
                    refusal = await self._take(message, reservation)
            except TimeoutError:
                self._shut(replies.SLOW)
                return
            if refusal is None and not reservation.grow(min(message.size, self._proxy.limit_bytes)):
                refusal = CROWDED  # to judge it
            if refusal is None:
                with self._unhurried():
                    answers = await transaction.finish(message)
            else:
                if refusal is CROWDED:
                    self._proxy.note("busy")
                transaction.abandon()
                answers = [refusal] * (
                    len(transaction.recipients) if self._settings.protocol == "lmtp" else 1
                )
        self._set_post_data_state()
        await self._push(*answers)

    # --- what is passed on as it is ---

    async def smtp_RSET(self, arg: str | None) -> None:  # noqa: N802
        """Give up the message at hand."""
        if arg:
            await self._push(SYNTAX)
            return
        self._abandon()
        await self._plain(b"RSET", None)

    async def smtp_NOOP(self, arg: str | None) -> None:  # noqa: N802
        """Nothing."""
        await self._plain(b"NOOP", arg)

    async def smtp_VRFY(self, arg: str | None) -> None:  # noqa: N802
        """Ask about an address."""
        await self._plain(b"VRFY", arg)

    async def smtp_HELP(self, arg: str | None) -> None:  # noqa: N802
        """Ask for help."""
        await self._plain(b"HELP", arg)

    async def smtp_EXPN(self, arg: str | None) -> None:  # noqa: N802
        """Ask who is behind a list: nobody's business."""
        await self._push(NOT_HERE)

    async def smtp_QUIT(self, arg: str | None) -> None:  # noqa: N802
        """Say goodbye."""
        try:
            with self._unhurried():
                answer = await self._link.ask(b"QUIT")
        except NextHopLost:
            answer = own_reply(221, "2.0.0", "Bye")
        self._shut(answer)

    async def _plain(self, command: bytes, arg: str | None) -> None:
        argument = octets(arg)
        if not _WORDS.fullmatch(argument):
            await self._push(SYNTAX)
            return
        answer = await self._pass(b"%s %s" % (command, argument) if argument else command)
        if answer is not None:
            await self._push(answer)
