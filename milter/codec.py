"""The milter protocol as bytes in, events out.

No socket, no clock.  `encoder` has the other direction.

A packet is a length (4 bytes, big-endian), a command byte and `length - 1` bytes of data.
`MilterCodec.feed` takes bytes in any cut and yields one event per packet.  Which command may follow
which is the transport's business: a codec knows packets only.

Macros repeated unchanged before each header are told once: Postfix repeats them before every packet
of a message.

Numbers as in Sendmail's include/libmilter/mfdef.h; there is no RFC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

import msgspec

from oborona.doors.arguments import client_at_connect, path_address, peer_text
from oborona.errors import PeerError
from oborona.types import Client

MAX_PACKET: Final = 2 << 20  # 20 times Postfix's header_size_limit; body chunks are 64 KiB at most

_HEAD = Struct("!IB")  # length of what follows it, and the command, which counts in
_THREE = Struct("!III")
_PORT = Struct("!H")


class Negotiate(msgspec.Struct, frozen=True, gc=False):
    """The mail server's offer, its first word."""

    version: int
    actions: int
    protocol: int


class MilterMacros(msgspec.Struct, frozen=True, gc=False):
    """What the mail server says of itself before a command; names without braces."""

    values: dict[str, str]


class Connect(msgspec.Struct, frozen=True, gc=False):
    """An SMTP client connected."""

    client: Client


class Helo(msgspec.Struct, frozen=True, gc=False):
    """HELO or EHLO."""

    name: str


class MailFrom(msgspec.Struct, frozen=True, gc=False):
    """MAIL FROM; the sender without <>."""

    sender: str
    params: tuple[str, ...]


class RcptTo(msgspec.Struct, frozen=True, gc=False):
    """RCPT TO; the recipient without <>."""

    recipient: str
    params: tuple[str, ...]


class DataCommand(msgspec.Struct, frozen=True, gc=False):
    """DATA."""


class MilterHeader(msgspec.Struct, frozen=True, gc=False):
    """One header; folded lines of the value are parted by a newline."""

    name: bytes
    value: bytes


class EndOfHeaders(msgspec.Struct, frozen=True, gc=False):
    """The header block is over."""


class BodyChunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of the body."""

    chunk: bytes


class EndOfMessage(msgspec.Struct, frozen=True, gc=False):
    """The message is whole; Postfix sends the last piece of the body along."""

    chunk: bytes


class Abort(msgspec.Struct, frozen=True, gc=False):
    """The message at hand is given up; the connection stays."""


class Quit(msgspec.Struct, frozen=True, gc=False):
    """The connection ends."""


class QuitAndReuse(msgspec.Struct, frozen=True, gc=False):
    """The SMTP session ends; the next one comes over this connection on the same terms."""


class UnknownCommand(msgspec.Struct, frozen=True, gc=False):
    """An SMTP command that the mail server does not know."""


MilterEvent = (
    Negotiate | MilterMacros | Connect | Helo | MailFrom | RcptTo | DataCommand | MilterHeader | EndOfHeaders | BodyChunk | EndOfMessage
    | Abort | Quit | QuitAndReuse | UnknownCommand
)  # fmt: skip

_MACRO: Final = ord("D")
# commands before which Postfix says the same macros again
_WITHIN_CONTENT: Final = frozenset(b"LNB")


class MilterCodec:
    """Cuts one connection's bytes into events."""

    __slots__ = ("_buffer", "_macros", "_need")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._need = 0  # bytes that the packet at the head of the buffer takes
        self._macros = b""

    def feed(self, data: bytes) -> Iterator[MilterEvent]:
        """Yield an event for each packet that `data` completes.

        Guaranteed: the same bytes give the same events and the same error in whatever pieces they
        come.

        Args:
            data: the next bytes; exhaust the iterator before the next call.

        Raises:
            PeerError: a packet too large, of an unknown command, or broken; feed nothing more.
        """
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._need:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
        start, end = 0, len(data)
        while end - start >= _HEAD.size:
            length, command = _HEAD.unpack_from(data, start)
            if not 1 <= length <= MAX_PACKET:
                raise PeerError(f"milter packet of {length} bytes, at most {MAX_PACKET} are taken")
            stop = start + 4 + length
            if stop > end:
                self._need = stop - start
                break
            payload = data[start + 5 : stop]
            start = stop
            if command == _MACRO:
                macros = payload[1:]
                if macros == self._macros:
                    continue
                self._macros = macros
            elif command not in _WITHIN_CONTENT:
                self._macros = b""
            read = _READERS.get(command)
            if read is None:
                raise PeerError(f"unknown milter command {chr(command)!r}")
            yield read(payload)
        else:
            self._need = _HEAD.size
        self._buffer += data[start:]


def _strings(payload: bytes) -> list[bytes]:
    """Return the NUL-terminated strings of a packet, at least one."""
    if payload[-1:] != b"\0":
        raise PeerError(f"milter string without its end: {payload[-60:]!r}")
    return payload[:-1].split(b"\0")


def _header(payload: bytes) -> MilterHeader:
    name, nul, value = payload.partition(b"\0")
    if not nul or value[-1:] != b"\0":
        raise PeerError(f"milter header without its end: {payload[-60:]!r}")
    return MilterHeader(name, value[:-1])


def _macros(payload: bytes) -> MilterMacros:
    """Command byte, then name and value by turns; the command may have none at all."""
    if len(payload) < 2:
        return MilterMacros({})
    strings = _strings(payload[1:])
    if len(strings) % 2:
        raise PeerError(f"milter macro without a value: {strings[-1][:60]!r}")
    words = [peer_text(string) for string in strings]
    return MilterMacros(
        {name.strip("{}"): value for name, value in zip(words[::2], words[1::2], strict=True)}
    )


def _connect(payload: bytes) -> Connect:
    """Host name, family, and for all families but U a port (2 bytes) and an address."""
    host, nul, rest = payload.partition(b"\0")
    family = rest[:1]
    if not nul or family not in (b"4", b"6", b"L", b"U"):
        raise PeerError(f"milter connect of an unknown kind: {payload[:60]!r}")
    if family in (b"4", b"6"):
        if len(rest) < 5:
            raise PeerError(f"milter connect without an address: {payload[:60]!r}")
        return Connect(
            client_at_connect(
                peer_text(host), peer_text(_strings(rest[3:])[0]), _PORT.unpack_from(rest, 1)[0]
            )
        )
    return Connect(client_at_connect(peer_text(host), "", 0))


def _negotiate(payload: bytes) -> Negotiate:
    if len(payload) < _THREE.size:
        raise PeerError(f"milter negotiation of {len(payload)} bytes")
    return Negotiate(*_THREE.unpack_from(payload))


def _helo(payload: bytes) -> Helo:
    return Helo(peer_text(_strings(payload)[0]))


def _mail(payload: bytes) -> MailFrom:
    sender, *params = map(peer_text, _strings(payload))
    return MailFrom(path_address(sender), tuple(params))


def _rcpt(payload: bytes) -> RcptTo:
    recipient, *params = map(peer_text, _strings(payload))
    return RcptTo(path_address(recipient), tuple(params))


def _bare(event: MilterEvent) -> Callable[[bytes], MilterEvent]:
    """Return the reader of a command whose data says nothing to us."""
    return lambda _: event


_BY_LETTER: Final[dict[str, Callable[[bytes], MilterEvent]]] = {
    "O": _negotiate,
    "D": _macros,
    "C": _connect,
    "H": _helo,
    "M": _mail,
    "R": _rcpt,
    "T": _bare(DataCommand()),
    "L": _header,
    "N": _bare(EndOfHeaders()),
    "B": BodyChunk,
    "E": EndOfMessage,
    "A": _bare(Abort()),
    "Q": _bare(Quit()),
    "K": _bare(QuitAndReuse()),
    "U": _bare(UnknownCommand()),
}
_READERS: Final = {ord(letter): reader for letter, reader in _BY_LETTER.items()}
