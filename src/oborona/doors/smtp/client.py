"""A connection to a mail server, as its client: connect, greet, say commands, hear answers.

What it is sent, and in which order, is for the door to say. Every wait is the caller's to bound.

Source: RFC 5321 section 4; RFC 2033 for LHLO.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Self

from oborona.config import Address, UnixAddress
from oborona.doors.smtp.replies import SmtpReply, SmtpReplyParser
from oborona.errors import PeerError

READ_BYTES: Final = 16 * 1024
GOING: Final = 421  # said before a mail server hangs up, asked or not


class _CountingReader(asyncio.StreamReader):
    """Counts what it hears, so that answers are known that nobody asked for."""

    heard = 0

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # typeshed: any numbers
        """Take what came."""
        self.heard += len(data)
        super().feed_data(data)


class MailServerClient:
    """One connection.

    Use `await MailServerClient.connect(...)`; leave it by `leave`, or by `cut` where it is in
    trouble.

    Args:
        ear: reads from it.
        writer: writes to it.
    """

    def __init__(self, ear: _CountingReader, writer: asyncio.StreamWriter) -> None:
        self._ear = ear
        self._taken = 0  # of what the ear heard
        self._writer = writer
        self._answers = SmtpReplyParser()
        self._come: deque[SmtpReply] = deque()
        self._broken: PeerError | None = None
        # by the name of the extension in capitals; what stands behind it
        self.offers: dict[str, bytes] = {}

    @classmethod
    async def connect(cls, address: Address) -> Self:
        """Connect; its greeting is the first answer.

        Raises:
            OSError: nobody there.
        """
        loop = asyncio.get_running_loop()
        ear = _CountingReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(ear, loop=loop)
        transport: asyncio.Transport
        if isinstance(address, UnixAddress):
            transport, _ = await loop.create_unix_connection(lambda: protocol, address.path)
        else:
            transport, _ = await loop.create_connection(
                lambda: protocol, address.host, address.port
            )
        return cls(ear, asyncio.StreamWriter(transport, protocol, ear, loop))

    async def hello(self, verb: bytes, name: bytes) -> SmtpReply:
        """Say who we are; note what it offers.

        Args:
            verb: EHLO, LHLO or HELO.
            name: ours, or whom we speak for.

        Raises:
            OSError: it hung up.
            PeerError: what comes is no answer.
        """
        answer = await self.ask(b"%s %s" % (verb, name))
        if answer.code == 250:
            words = (line[4:].split(maxsplit=1) for line in answer.lines[1:])
            self.offers = {
                word[0].decode("ascii", "replace").upper(): word[1].strip()
                if len(word) > 1
                else b""
                for word in words
                if word
            }
        return answer

    async def ask(self, command: bytes) -> SmtpReply:
        """Say one command; return the answer, or that the mail server is going, where it said so
        before it was asked.

        Raises:
            OSError: it hung up.
            PeerError: what comes is no answer, or came unasked.
        """
        if self._come or self._ear.heard > self._taken:
            early = await self.answer()
            if early.code == GOING:
                return early
            raise PeerError(f"an answer that nobody asked for: {early.text!r}")
        self.say(command)
        return await self.answer()

    def say(self, *commands: bytes) -> None:
        """Say commands together; an answer to each is owed.

        Raises:
            OSError: it hung up.
            PeerError: it said what nobody asked for.
        """
        if self._come:
            raise PeerError(f"an answer that nobody asked for: {self._come[0].text!r}")
        self._write(b"".join(command + b"\r\n" for command in commands))

    async def write(self, octets: bytes) -> None:
        """Send a piece of a message; return when there is room for the next.

        Raises:
            OSError: it hung up.
        """
        self._write(octets)
        await self._writer.drain()

    async def answer(self) -> SmtpReply:
        """Return the next answer.

        Raises:
            OSError: it hung up.
            PeerError: what comes is none.
        """
        while not self._come:
            if self._broken is not None:
                raise self._broken
            data = await self._ear.read(READ_BYTES)
            if not data:
                raise ConnectionResetError("it hung up")
            self._taken += len(data)
            try:
                self._come.extend(self._answers.feed(data))
            except PeerError as error:
                self._broken = error  # what was said before it stands
        return self._come.popleft()

    def leave(self) -> None:
        """Say goodbye, and do not wait for the answer."""
        if not self._writer.transport.is_closing():
            self._writer.write(b"QUIT\r\n")
            self._writer.close()

    def cut(self) -> None:
        """Hang up without ceremony: a message that is not whole is none."""
        self._writer.transport.abort()

    def _write(self, octets: bytes) -> None:
        if self._writer.transport.is_closing():
            raise ConnectionResetError("it hung up")
        self._writer.write(octets)
