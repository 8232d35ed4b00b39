"""The commands that say who the client is: HELO, XCLIENT and XFORWARD, STARTTLS, and AUTH as the
next hop answers it.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import Final

import msgspec

from oborona.doors.arguments import peer_text
from oborona.doors.proxy import client_attributes, login, offers
from oborona.doors.proxy.connection import ProxyConnectionBase
from oborona.doors.proxy.next_hop import NextHopLost
from oborona.doors.proxy.replies import NOT_HERE, ORDER, SYNTAX
from oborona.doors.proxy.session import TransactionClient
from oborona.doors.smtp.connection import octets
from oborona.doors.smtp.replies import own_reply

_NAME: Final = re.compile(rb"[!-~\x80-\xff]{1,255}")


class ProxyHandshake(ProxyConnectionBase):
    """The commands before a message."""

    async def smtp_EHLO(self, hostname: str) -> None:  # noqa: N802 - the library's name
        """Greet."""
        await self._hello(b"EHLO", hostname)

    async def smtp_LHLO(self, hostname: str) -> None:  # noqa: N802
        """Greet by LMTP."""
        await self._hello(b"LHLO", hostname)

    async def smtp_HELO(self, hostname: str) -> None:  # noqa: N802
        """Greet without extensions."""
        await self._hello(b"HELO", hostname)

    async def _hello(self, verb: bytes, hostname: str | None) -> None:
        name = octets(hostname)
        if (verb == b"LHLO") != (self._settings.protocol == "lmtp"):
            await self._push(NOT_HERE)
            return
        if not _NAME.fullmatch(name):
            await self._push(SYNTAX)
            return
        self._abandon()
        try:
            with self._unhurried():
                answer = await self._link.hello(verb, name)
        except NextHopLost:
            self._lost()
            return
        assert self.session is not None
        if answer.code != 250:
            await self._push(answer)
            return
        self._helo, self.session.host_name = name, peer_text(name)
        self.session.extended_smtp = verb != b"HELO"
        if verb == b"HELO":
            await self._push(answer)
            return
        certificate = self._proxy.certificate
        extra = [b"STARTTLS"] if certificate is not None and not self._over_tls else []
        if self._trusted:
            extra += [
                _offer("XCLIENT", client_attributes.XCLIENT),
                _offer("XFORWARD", client_attributes.XFORWARD),
            ]
        self._writer.write(
            offers.hello_answer(
                answer,
                self._link.offers,
                extra,
                limit=self._settings.max_message_bytes,
                auth=certificate is None or self._over_tls,
            )
        )
        await self._writer.drain()

    async def smtp_XCLIENT(self, arg: str | None) -> None:  # noqa: N802
        """Take somebody else for the client, for the rest of the connection."""
        attributes = await self._parse_attributes(arg, client_attributes.XCLIENT)
        if attributes is None:
            return
        command = client_attributes.format_command(
            b"XCLIENT", attributes, self._link.offers.get("XCLIENT", b"")
        )
        answer = self._greeting if command is None else await self._pass(command)
        if answer is None:
            return
        if answer.code == 220:
            self._tells = command is None
            self._client = client_attributes.client_of(attributes, self._client)
            self._begin_anew()
        await self._push(answer)

    async def smtp_XFORWARD(self, arg: str | None) -> None:  # noqa: N802
        """Take somebody else for the client of the next message."""
        attributes = await self._parse_attributes(arg, client_attributes.XFORWARD)
        if attributes is not None:
            self._forwarded |= attributes
            await self._push(own_reply(250, "2.0.0", "OK"))

    async def _parse_attributes(
        self, arg: str | None, names: tuple[str, ...]
    ) -> dict[str, bytes] | None:
        if not self._trusted:
            await self._push(own_reply(550, "5.7.0", "Not from your address"))
        elif self._transaction is not None:
            await self._push(ORDER)
        elif (attributes := client_attributes.parse_attributes(octets(arg), names)) is None:
            await self._push(SYNTAX)
        else:
            return attributes
        return None

    async def smtp_STARTTLS(self, arg: str | None) -> None:  # noqa: N802
        """Go on in private; nothing of what was said before holds."""
        certificate = self._proxy.certificate
        if arg:
            await self._push(SYNTAX)
        elif certificate is None:
            await self._push(NOT_HERE)
        elif self._over_tls or self._transaction is not None or self._client.login:
            await self._push(ORDER)
        else:
            await self._push(own_reply(220, "2.0.0", "Ready to start TLS"))
            try:
                await self._writer.start_tls(certificate.context())
            except (OSError, ssl.SSLError) as error:
                raise ConnectionResetError("no TLS after all") from error
            self.transport = self._writer.transport
            self._reader._buffer.clear()  # type: ignore[attr-defined]  # noqa: SLF001 - what came before is not private
            self._reader._transport = self.transport  # type: ignore[attr-defined]  # noqa: SLF001
            assert self.session is not None
            self.session.ssl = {}
            self._over_tls = True
            self._begin_anew()

    def _begin_anew(self) -> None:
        assert self.session is not None
        self._abandon()
        self._helo, self.session.host_name = b"", None

    async def smtp_AUTH(self, arg: str | None) -> None:  # noqa: N802
        """Let the next hop find out who it is, by what both say; note whom it found."""
        mechanism, _, initial = octets(arg).partition(b" ")
        mechanism = mechanism.upper()
        if await self.check_helo_needed("EHLO"):
            return
        if self._proxy.certificate is not None and not self._over_tls:
            await self._push(own_reply(538, "5.7.11", "Only behind STARTTLS"))
        elif self._transaction is not None or self._client.login:
            await self._push(ORDER)
        elif mechanism not in login.MECHANISMS or "AUTH" not in self._link.offers:
            await self._push(own_reply(504, "5.5.4", "Mechanism was not offered"))
        elif not login.is_base64_line(initial):
            await self._push(SYNTAX)
        else:
            await self._log_in(mechanism, initial)

    async def _log_in(self, mechanism: bytes, initial: bytes) -> None:
        lines = [initial] if initial else []
        answer = await self._pass(
            b"AUTH %s %s" % (mechanism, initial) if initial else b"AUTH " + mechanism, turn=True
        )
        while answer is not None and answer.code == 334:
            await self._push(answer)
            try:
                line = (await self._reader.readuntil()).rstrip(b"\r\n")
            except asyncio.LimitOverrunError:
                self._shut(SYNTAX)
                return
            self._reset_timeout()
            if not login.is_base64_line(line) or len(lines) >= login.MAX_TURNS:
                line = b"*"
            lines.append(line)
            answer = await self._pass(line, turn=True)
        if answer is None:
            return
        if answer.good:
            name = login.login_name(mechanism, lines)
            self._client = msgspec.structs.replace(self._client, login=name)
            self._asked.logged_in(name)
        await self._push(answer)

    def _speaker(self) -> TransactionClient:
        forwarded = self._forwarded
        return TransactionClient(
            client=client_attributes.client_of(forwarded, self._client),
            helo=peer_text(forwarded.get("HELO", self._helo)),
            queue_id=peer_text(forwarded.get("IDENT", b"")),
        )

    def _forward(self) -> bytes | None:
        """Return what the next hop is told of the client before a message."""
        attributes = dict(self._forwarded)
        if not attributes and self._tells:
            attributes = client_attributes.attributes_of(self._client) | {
                "PROTO": self._verb.replace(b"EHLO", b"ESMTP").replace(b"LHLO", b"LMTP"),
                "HELO": self._helo,
                "SOURCE": b"REMOTE",
            }
        return (
            client_attributes.format_command(
                b"XFORWARD", attributes, self._link.offers.get("XFORWARD", b"")
            )
            if attributes
            else None
        )


def _offer(name: str, attributes: tuple[str, ...]) -> bytes:
    return " ".join((name, *attributes)).encode("ascii")
