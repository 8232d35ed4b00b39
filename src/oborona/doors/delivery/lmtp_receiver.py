"""Messages taken by LMTP on the event loop, as aiosmtpd speaks it, in pieces.

What becomes of one is for the door to say.

The library keeps the commands, their order and their errors.  Ours are: what MAIL and RCPT name,
kept as it was written; DATA, which goes to a `SpooledMessage` piece by piece instead of into
memory; and an answer for each recipient behind it (RFC 2033 section 4.2).  Every recipient is taken
at RCPT, whoever he is: the word on him comes with the others, after the message.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from pathlib import Path
from typing import Any, Final

from aiosmtpd.lmtp import LMTP

from oborona.config.delivery import DeliverySettings
from oborona.doors.acceptor import Acceptor
from oborona.doors.delivery.handover import Handover
from oborona.doors.delivery.next_hop import LmtpEnvelope
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.smtp.connection import SmtpConnection, SmtpHooks, octets
from oborona.doors.smtp.paths import SmtpPath, parse_path
from oborona.doors.smtp.replies import SmtpReply
from oborona.doors.smtp.spooled_message import SpooledMessage

GUARD_S: Final = 30.0  # beyond the deadline: the answers are written by then
EXTENSIONS: Final = ("PIPELINING", "ENHANCEDSTATUSCODES")  # besides those that the library offers


class LmtpReceiver(Acceptor):
    """Serves LMTP connections of one listening socket.

    Args:
        settings: limits and deadlines.
        name: ours.
        spool: folder for messages that do not stay in memory.
        room: for all messages that come in.
        log: of the door.
    """

    def __init__(
        self,
        settings: DeliverySettings,
        name: str,
        spool: Path,
        room: MemoryBudget,
        log: logging.Logger,
    ) -> None:
        super().__init__(
            idle_s=settings.idle_s,
            max_sessions=settings.max_connections,
            log=log,
            max_per_client=settings.max_per_client,
            allowed=settings.allowed,
        )
        self.settings = settings
        self.name = name
        self.spool = spool
        self.room = room
        self.log = log
        self.hooks = _LmtpHooks(log)

    @abstractmethod
    async def take(self, handed: Handover) -> list[SmtpReply]:
        """Take a whole message; return the last word on each recipient, in order."""

    def _connection(self) -> LmtpConnection:
        return LmtpConnection(self)


class _LmtpHooks(SmtpHooks):
    async def handle_EHLO(  # noqa: N802 - the library's name
        self, server: LMTP, session: Any, _envelope: Any, host: str, lines: list[str]
    ) -> list[str]:
        """Offer what we can; the library's last line is HELP, which nobody needs."""
        session.host_name = host
        offered = [lines[0], *(f"250-{word}" for word in EXTENSIONS), *lines[1:-1]]
        return [*offered[:-1], offered[-1].replace("250-", "250 ", 1)]


class LmtpConnection(SmtpConnection, LMTP):
    """One LMTP connection.

    Args:
        server: counts it.
    """

    def __init__(self, server: LmtpReceiver) -> None:
        self._named: SmtpPath | None = None  # by MAIL; None: no message is at hand
        self._recipients: list[bytes] = []
        self._receiver = server
        self._settings = server.settings
        super().__init__(
            server,
            server.hooks,
            name=server.name,
            ident="Oborona LMTP",
            idle_s=self._settings.idle_s,
            max_message_bytes=self._settings.max_message_bytes,
            log=server.log,
        )

    @property
    def _between(self) -> bool:
        return not self._busy and self._named is None

    def _set_post_data_state(self) -> None:
        super()._set_post_data_state()  # type: ignore[no-untyped-call]
        self._named, self._recipients = None, []

    # --- commands ---

    async def smtp_MAIL(self, arg: str | None) -> None:  # noqa: N802 - the library's name
        """Begin a message."""
        if await self.check_helo_needed("LHLO"):
            return
        if self._named is not None:
            await self.push("503 5.5.1 One MAIL for one message")
            return
        named = parse_path(octets(arg), b"FROM:")
        if named is None:
            await self.push("501 5.5.4 Syntax: MAIL FROM:<address>")
            return
        body = named.parameters.get("BODY", b"7BIT").upper()
        size = named.parameters.get("SIZE", b"0")
        if (
            named.parameters.keys() - {"BODY", "SIZE", "SMTPUTF8"}
            or body not in (b"7BIT", b"8BITMIME")
            or named.parameters.get("SMTPUTF8")
        ):
            await self.push("555 5.5.4 A parameter that was not offered")
        elif not size.isdigit() or len(size) > 20:
            await self.push("501 5.5.4 Syntax: SIZE=number")
        elif int(size) > self._settings.max_message_bytes:
            await self.push("552 5.3.4 Message is too large")
        else:
            self._named = named
            await self.push("250 2.1.0 OK")

    async def smtp_RCPT(self, arg: str | None) -> None:  # noqa: N802 - the library's name
        """Take one recipient."""
        if await self.check_helo_needed("LHLO"):
            return
        named = parse_path(octets(arg), b"TO:")
        if self._named is None:
            await self.push("503 5.5.1 MAIL comes first")
        elif named is None or not named.address:
            await self.push("501 5.5.4 Syntax: RCPT TO:<address>")
        elif named.parameters:
            await self.push("555 5.5.4 A parameter that was not offered")
        elif len(self._recipients) >= self._settings.max_recipients:
            await self.push("452 4.5.3 Too many recipients, come again with the rest")
        else:
            self._recipients.append(named.address)
            await self.push("250 2.1.5 OK")

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802 - the library's name
        """Take the message, hand it on, and answer for each recipient."""
        if await self.check_helo_needed("LHLO"):
            return
        if arg:
            await self.push("501 5.5.4 Syntax: DATA")
            return
        if self._named is None or not self._recipients:
            await self.push(
                "503 5.5.1 No recipient" if self._named else "503 5.5.1 MAIL comes first"
            )
            return
        self._busy = True
        try:
            await self._transaction(self._named, tuple(self._recipients))
        except Exception:
            self._break_off()
            raise
        finally:
            self._busy = False
        if self._server.draining and self.transport is not None:
            self.transport.close()

    async def _transaction(self, named: SmtpPath, recipients: tuple[bytes, ...]) -> None:
        settings = self._settings
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        with (
            SpooledMessage(self._receiver.spool, limit_bytes=settings.max_message_bytes) as message,
            self._receiver.room.hold() as reservation,
        ):
            refusal = await self._take(message, reservation)
            if refusal is None:
                self._reset_timeout(settings.deadline_s + settings.journal_wait_s + GUARD_S)
                envelope = LmtpEnvelope(
                    sender=named.address,
                    eight_bit=named.parameters.get("BODY", b"").upper() == b"8BITMIME",
                    utf8="SMTPUTF8" in named.parameters,
                )
                handed = Handover(envelope=envelope, recipients=recipients, message=message)
                answers = await self._receiver.take(handed)
            else:
                answers = [refusal] * len(recipients)
        self._set_post_data_state()
        self._reset_timeout()
        self._writer.write(self._reply_octets(answers))
        await self._writer.drain()

    def _reply_octets(self, answers: list[SmtpReply]) -> bytes:
        """Return what the mail server is told behind a message."""
        return b"".join(answer.wire for answer in answers)
