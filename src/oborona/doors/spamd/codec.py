"""Requests to spamd, and to an old rspamd, as bytes in; no socket, no clock.

    CHECK SPAMC/1.5                    CHECK RSPAMC/1.3
    User: joe                          From: <ann@a.example>
    Content-length: 1234               Rcpt: <joe@example.test>
                                       IP: 192.0.2.9
    <message>                          Content-length: 1234

                                       <message>

A connection has one request.  The message ends with its length, or where that is not said with the
client's half of the connection; what is larger than the limit is counted and dropped, so that the
answer is heard.  Of what comes after a request nothing is looked at.

Source: spamd/PROTOCOL and spamd.raw of SpamAssassin 4.0; spam.c of Exim 4.96.
Known limits: a compressed message counts as cut off at its limit, whatever is left of it.
"""

from __future__ import annotations

import re
import zlib
from enum import StrEnum
from typing import Final

import msgspec

from oborona.doors.arguments import peer_text
from oborona.errors import PeerError

MAX_LINE: Final = 8192  # bytes of the first line or of a header
# Exim names each recipient in a line of its own, and takes 50,000 (recipients_max)
MAX_HEADERS: Final = 51_000
MAX_HEAD: Final = 4 * 1024 * 1024  # bytes of all
NO_HEADERS: Final = 1.0  # the version before there were any
BARE_PING: Final = 1.5  # before this version no empty line follows PING

_COMMAND: Final = re.compile(rb"([A-Z_]{1,20}) (R?)SPAMC/([0-9]{1,2}\.[0-9]{1,2})[ \t]*")
_HEADER: Final = re.compile(rb"([!-9;-~]{1,40}):[ \t]*+(.*)", re.DOTALL)
_SHOWN: Final = 60  # bytes of a broken line in the log


class SpamdCommand(StrEnum):
    """The command of a request."""

    CHECK = "CHECK"  # the verdict
    SYMBOLS = "SYMBOLS"  # and which rules fired
    REPORT = "REPORT"  # and why, for people
    REPORT_IFSPAM = "REPORT_IFSPAM"  # the same of spam alone
    HEADERS = "HEADERS"  # the message's header, marked
    PROCESS = "PROCESS"  # the message, marked
    TELL = "TELL"  # what somebody says of it
    PING = "PING"
    SKIP = "SKIP"  # nothing: the client thinks better of it


_COMMANDS: Final = {command.encode(): command for command in SpamdCommand}
_WITHOUT_MESSAGE: Final = frozenset({SpamdCommand.PING, SpamdCommand.SKIP})


class SpamdRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    command: SpamdCommand
    rspamd: bool  # it speaks RSPAMC
    version: float
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case, in order
    raw: bytes = b""  # the message, or its head
    # bytes of the whole message; a lower bound for a compressed one that is too large
    size: int = 0

    @property
    def truncated(self) -> bool:
        """Whether some of the message is missing."""
        return self.size > len(self.raw)

    def get(self, name: str) -> str:
        """Return the first header of a name, empty where there is none."""
        return next((value for header_name, value in self.headers if header_name == name), "")


class SpamdCodec:
    """Reads the request of one connection.

    Args:
        limit_bytes: of a message that are kept.
    """

    __slots__ = (
        "_head",
        "_headers",
        "_kept",
        "_left",
        "_length",
        "_limit",
        "_read",
        "_request",
        "_size",
        "done",
        "rspamd",
    )

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        # what is not looked at yet; None: the message has begun
        self._head: bytearray | None = bytearray()
        self._read = 0  # bytes of the lines before it
        self._request: SpamdRequest | None = None  # as far as it is known
        self._headers: list[tuple[str, str]] = []
        self._length: int | None = None  # of the message, as said
        self._kept: list[bytes] = []
        self._left = limit_bytes  # to be kept
        self._size = 0
        self.done = False  # the request is whole, or broken; nothing is looked at any more
        self.rspamd = False  # the client speaks RSPAMC

    @property
    def kept(self) -> int:
        """Octets that are held of the message, and of what stands before it."""
        return (
            self._limit
            - self._left
            + self._read
            + (len(self._head) if self._head is not None else 0)
        )

    @property
    def begun(self) -> bool:
        """Whether anything came."""
        return self._request is not None or bool(self._head)

    def drop(self) -> None:
        """Let go what is held, and look at nothing more."""
        self.done = True
        self._kept.clear()
        self._head = None

    def feed(self, data: bytes) -> SpamdRequest | None:
        """Return the request, once it is whole.

        Guaranteed: the same bytes give the same request or the same error in whatever pieces they
        come.

        Args:
            data: the next bytes.

        Raises:
            PeerError: no request of these protocols, or one too large; feed nothing more.
        """
        if self.done:
            return None
        try:
            return self._feed(data)
        except PeerError:
            self.done = True
            raise

    def end(self) -> SpamdRequest | None:
        """Return the request that the end of input makes whole.

        None where there was none, or it has been returned.

        Raises:
            PeerError: it breaks off.
        """
        if self.done or not self.begun:
            return None
        self.done = True
        request = self._request
        if self._head is not None:
            if request is not None and request.command in _WITHOUT_MESSAGE and not self._head:
                return request
            raise PeerError("a request breaks off before its message")
        if self._length is not None:
            raise PeerError(f"a message of {self._length} bytes ends after {self._size}")
        return self._whole()

    def _feed(self, data: bytes) -> SpamdRequest | None:
        if self._head is not None:
            self._head += data
            rest = self._lines()
            if self.done:  # there is no message
                return self._request
            if rest is None:
                return None
            data = rest
        if self._length is not None:
            data = data[: self._length - self._size]
        self._size += len(data)
        if len(data) > self._left:
            data = data[: self._left]
        if data:
            self._left -= len(data)
            self._kept.append(data)
        if self._size != self._length:
            return None
        self.done = True
        return self._whole()

    def _lines(self) -> bytes | None:
        """Read what is whole of the lines before the message.

        Return what comes behind the last of them.
        """
        head, start = self._head, 0
        assert head is not None
        while (end := head.find(b"\n", start, start + MAX_LINE)) >= 0:
            line = bytes(head[start:end]).removesuffix(b"\r")
            start = end + 1
            self._read += len(line) + 2
            if self._read > MAX_HEAD or len(self._headers) > MAX_HEADERS:
                raise PeerError(f"more than {MAX_HEADERS} headers, or {MAX_HEAD} bytes of them")
            if self._line(line):
                self._head = None
                return bytes(head[start:])
        if len(head) - start >= MAX_LINE:
            raise PeerError(
                f"a line of more than {MAX_LINE} bytes: {bytes(head[start : start + _SHOWN])!r}"
            )
        del head[:start]
        return None

    def _line(self, line: bytes) -> bool:
        """Take one line; return whether it was the last before the message."""
        request = self._request
        if request is None:
            self._request = request = _command(line)
            self.rspamd = request.rspamd
            if request.rspamd:
                return False
            if request.command in _WITHOUT_MESSAGE:
                self.done = request.version < BARE_PING
                return self.done
            return request.version <= NO_HEADERS
        if not line:
            self._request = msgspec.structs.replace(request, headers=tuple(self._headers))
            self.done = request.command in _WITHOUT_MESSAGE
            return True
        match = _HEADER.fullmatch(line)
        if match is None or b"\0" in line or b"\r" in line:
            raise PeerError(f"not a header: {line[:_SHOWN]!r}")
        name, value = match[1].decode("ascii").lower(), peer_text(match[2].rstrip())
        if name == "content-length":
            if self._length is not None or not (
                value.isascii() and value.isdecimal() and len(value) <= 15
            ):
                raise PeerError(f"not a length, or a second one: {value[:_SHOWN]!r}")
            self._length = int(value)
        elif name == "compress" and value.lower() != "zlib":
            raise PeerError(f"compressed otherwise than by zlib: {value[:_SHOWN]!r}")
        self._headers.append((name, value))
        return False

    def _whole(self) -> SpamdRequest:
        request = self._request
        assert request is not None
        raw, size = b"".join(self._kept), self._size
        self._kept.clear()
        if request.get("compress"):
            if self._length is None:
                raise PeerError("a compressed message needs its length")
            raw, size = _inflated(raw, cut_off=size > len(raw), limit_bytes=self._limit)
        return msgspec.structs.replace(request, raw=raw, size=size)


def _command(line: bytes) -> SpamdRequest:
    match = _COMMAND.fullmatch(line)
    command = _COMMANDS.get(match[1]) if match else None
    if match is None or command is None:
        raise PeerError(f"not a command: {line[:_SHOWN]!r}")
    return SpamdRequest(command=command, rspamd=bool(match[2]), version=float(match[3]))


def _inflated(packed: bytes, *, cut_off: bool, limit_bytes: int) -> tuple[bytes, int]:
    """Return what a compressed message unpacks to, at most so much of it, and how large it is at
    least.

    Raises:
        PeerError: it is broken.
    """
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(packed, limit_bytes + 1)
    except zlib.error as error:
        raise PeerError(f"a broken compressed message: {error}") from None
    if len(raw) > limit_bytes:
        return raw[:limit_bytes], len(raw)
    if unpacker.eof:
        return raw, len(raw)
    if not cut_off:
        raise PeerError("a compressed message breaks off")
    return raw, len(raw) + 1
