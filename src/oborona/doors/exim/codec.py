"""The line protocol for Exim as bytes in, requests out; no socket, no clock.

    oborona/1 rcpt ip=192.0.2.7 from64=YW5uQGEuZXhhbXBsZQ== rcpt64=am9lQGV4YW1wbGUudGVzdA==

A request is one line of printable ASCII: the version, a word, fields parted by spaces or tabs.
What a stranger may have written comes in base64, so that nothing in it can end a field or a line.
`EximCodec.feed` takes bytes in any cut and yields the requests that are whole.

A line that is too long is read to its end and kept no longer: whoever sent it still hears why.
Whatever breaks the protocol ends the connection, for what follows it may be anything.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from oborona.errors import PeerError

VERSION: Final = "oborona/1"
MAX_LINE: Final = 65_536  # bytes of a request without a message
MAX_FIELDS: Final = 64  # of a request; sixteen have a meaning

_MESSAGE: Final = re.compile(rb"oborona/1[ \t]+data[ \t]")  # how a request with a message begins
_LOOKED_AT: Final = 64  # bytes of a line that tell whether it does
_NAME: Final = re.compile(rb"[a-z][a-z0-9_]*")
_ALLOWED: Final = bytes((0x09, *range(0x20, 0x7F)))
_ENCODED: Final = b"64"  # how the name of a field in base64 ends
_SHOWN: Final = 40  # bytes of what is broken that are told


class EximVerb(StrEnum):
    """The verb of a request."""

    CONNECT = "connect"
    HELO = "helo"
    AUTH = "auth"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"  # a message, or as much of it as Exim shows
    PING = "ping"  # nothing: is somebody there?


WORDS: Final = {word.value: word for word in EximVerb}


class EximRequest(NamedTuple):
    """One line, taken apart."""

    word: EximVerb
    fields: Mapping[str, bytes]  # by their names without "64", decoded

    @property
    def more(self) -> bool:
        """Whether the same connection will ask again."""
        return self.fields.get("more") == b"yes"


class EximCodec:
    """Cuts one connection's bytes into requests.

    Args:
        message_bytes: of a message that are scanned; a request may carry as many, in base64.
    """

    __slots__ = ("_dropped", "_line", "_most", "_too_long")

    def __init__(self, message_bytes: int) -> None:
        self._most = message_bytes * 4 // 3 + MAX_LINE
        self._line = bytearray()  # the last one, without its end
        self._too_long = False  # and its bytes are let go
        self._dropped = False  # there was no room for it, and its bytes are let go

    @property
    def partial(self) -> bool:
        """Whether a request has begun and is not whole."""
        return bool(self._line) or self._dropped

    @property
    def kept(self) -> int:
        """Octets that are held of a request that is not whole."""
        return len(self._line)

    def drop(self) -> None:
        """Let go what is held of a request that is not whole, and what is to come of it."""
        self._line.clear()
        self._dropped = True

    def feed(self, data: bytes) -> Iterator[EximRequest | None]:
        """Yield each request that `data` completes; None for one that was dropped.

        Guaranteed: the same bytes give the same requests and the same error in whatever pieces they
        come; no more of a line is kept than a request may have, and the piece that is too much.

        Args:
            data: the next bytes; exhaust the iterator before the next call.

        Raises:
            PeerError: no request of this protocol, or one too large; feed nothing more.
        """
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._extend(end)
            line = bytes(self._line)
            self._line.clear()
            if self._dropped:
                self._dropped = False
                yield None
                continue
            if self._too_long:
                raise PeerError("request is too long")
            yield _request(line)
        self._extend(rest)

    def _extend(self, piece: bytes) -> None:
        if self._too_long or self._dropped:
            return
        self._line += piece
        if len(self._line) > MAX_LINE and (
            len(self._line) > self._most or not _MESSAGE.match(self._line[:_LOOKED_AT])
        ):
            self._too_long = True
            del self._line[_LOOKED_AT:]


def _request(line: bytes) -> EximRequest:
    line = line.removesuffix(b"\r")
    version, *words = line.split(None, MAX_FIELDS + 2) or [b""]
    if version != VERSION.encode():
        raise PeerError(f"speak {VERSION}")
    if line.translate(None, _ALLOWED):
        raise PeerError("not printable ASCII")
    verb = WORDS.get(words[0].decode()) if words else None
    if verb is None:
        raise PeerError(f"no such command: {_shown(b''.join(words[:1]))}")
    if len(words) - 1 > MAX_FIELDS:
        raise PeerError(f"more than {MAX_FIELDS} fields")
    fields: dict[str, bytes] = {}
    for word in words[1:]:
        name, equals, value = word.partition(b"=")
        if not equals or not _NAME.fullmatch(name):
            raise PeerError(f"not name=value: {_shown(word)}")
        plain = name.removesuffix(_ENCODED).decode()
        if plain in fields:
            raise PeerError(f"given twice: {plain[:_SHOWN]}")
        fields[plain] = value if plain == name.decode() else _decoded(name, value)
    return EximRequest(verb, fields)


def _decoded(name: bytes, value: bytes) -> bytes:
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except binascii.Error:
        raise PeerError(f"not base64: {_shown(name)}") from None


def _shown(word: bytes) -> str:
    return word[:_SHOWN].decode()
