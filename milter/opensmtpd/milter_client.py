"""The mail server's side of a milter connection: what an adapter asks the daemon by, one SMTP
session each.

Headers and body go without a wait; every other step is answered.  Whatever is wrong is an OSError,
EOFError or PeerError, and the end of the connection. Numbers as in Sendmail's
include/libmilter/mfdef.h; there is no RFC.
"""

from __future__ import annotations

import asyncio
import socket
from struct import Struct
from typing import Final, NamedTuple

from oborona.config.address import Address, UnixAddress
from oborona.doors import rfc5322
from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.errors import PeerError
from oborona.milter.protocol import (
    ADD_HEADERS,
    CHANGE_HEADERS,
    LEADING_SPACE,
    MAX_VERSION,
    NO_REPLY,
)

MAX_ANSWER: Final = 1 << 20  # bytes of one packet
CHUNK: Final = 65_535  # bytes of body in a packet, as libmilter takes it

_ACTIONS: Final = ADD_HEADERS | CHANGE_HEADERS
_STEPS: Final = LEADING_SPACE | NO_REPLY[b"L"] | NO_REPLY[b"N"] | NO_REPLY[b"B"]
_PACKET: Final = Struct("!IBIII")
_LENGTH: Final = Struct("!I")


class MilterAnswer(NamedTuple):
    """An answer: the letter of its packet, and its data."""

    letter: bytes
    data: bytes


class MilterClient:
    """One milter connection to the daemon."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, address: Address) -> MilterClient:
        """Connect, and agree on terms."""
        if isinstance(address, UnixAddress):
            return await cls(*await asyncio.open_unix_connection(address.path)).agree()
        return await cls(*await asyncio.open_connection(address.host, address.port)).agree()

    @classmethod
    async def over(cls, peer: socket.socket) -> MilterClient:
        """Agree on terms with whoever is at the other end of a socket.

        It is closed with the link.
        """
        peer.setblocking(False)
        return await cls(*await asyncio.open_connection(sock=peer)).agree()

    async def agree(self) -> MilterClient:
        """Agree on terms; return the link.

        Raises:
            PeerError: who is there is no milter of ours; the link is closed.
        """
        terms = _PACKET.pack(13, ord("O"), MAX_VERSION, _ACTIONS, _STEPS)[4:]
        try:
            answer = await self.ask(b"O", terms[1:])
        except BaseException:
            self.close()
            raise
        if answer.letter + answer.data[:12] != terms:
            self.close()
            raise PeerError("no milter of ours answers there")
        return self

    async def ask(self, command: bytes, data: bytes = b"", **macros: str) -> MilterAnswer:
        """Take one step, its macros told before, empty ones too; return the answer."""
        if macros:
            packet = "".join(f"{{{name}}}\0{value}\0" for name, value in macros.items())
            self.tell(b"D", command + packet.encode())
        self.tell(command, data)
        await self._writer.drain()
        return await self._read()

    async def message(
        self, raw: bytes, queue_id: str
    ) -> tuple[MilterAnswer, list[AddHeader | RemoveHeader]]:
        """Send a message, CRLF at each line's end, and return the answer and the edits before
        it.
        """
        end = 0
        for field in rfc5322.header_fields(raw):
            self.tell(b"L", field.name + b"\0" + field.value + b"\0")
            end = field.end
        self.tell(b"N")
        body = raw[end:].removeprefix(b"\r\n")
        for place in range(0, len(body), CHUNK):
            self.tell(b"B", body[place : place + CHUNK])
            await self._writer.drain()
        answer = await self.ask(b"E", i=queue_id)
        edits: list[AddHeader | RemoveHeader] = []
        while answer.letter in b"him":
            edits.append(_edit(answer))
            answer = await self._read()
        return answer, edits

    def tell(self, command: bytes, data: bytes = b"") -> None:
        """Take a step that has no answer."""
        self._writer.write(_LENGTH.pack(len(data) + 1) + command + data)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    async def _read(self) -> MilterAnswer:
        (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
        if not 1 <= length <= MAX_ANSWER:
            raise PeerError(f"an answer of {length} bytes")
        packet = await self._reader.readexactly(length)
        return MilterAnswer(packet[:1], packet[1:])


def _edit(answer: MilterAnswer) -> AddHeader | RemoveHeader:
    place, rest = (
        (b"", answer.data) if answer.letter == b"h" else (answer.data[:4], answer.data[4:])
    )
    try:
        name, value, _ = rest.decode("ascii").split("\0")
        if answer.letter != b"m":
            return AddHeader(name, value.removeprefix(" "), top=answer.letter == b"i")
        return RemoveHeader(
            name, 0 if value else int.from_bytes(place, "big")
        )  # none is changed, none is the 0th
    except ValueError as error:
        raise PeerError(f"an edit of headers that is none: {answer.data[:60]!r}") from error
