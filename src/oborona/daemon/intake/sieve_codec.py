"""What Dovecot's Sieve says to a program on a socket, as bytes in and one request out.

No socket, no clock.

    VERSION TAB script TAB 4 TAB 0          or 3
    env_USER=joe                            any number; of no use here
    -                                       an answer is wanted, or: noreply
    what=complaint                          arguments, one a line, as the script gives them:
                                            name=value
    user=joe
    (empty line)
    the message, if the script pipes it, until the client shuts its side

The answer is `+` or `-` and the end of the connection: the script learns whether what it said was
taken.

Limits: an argument is 1,024 bytes long at most (Pigeonhole refuses longer ones), and has no line
end in it.

Source: lib-program-client/program-client-remote.c of Dovecot 2.3.19 (version 4; 2.2 and early 2.3
say 3, without the env_ lines); sieve-extprograms of Pigeonhole 0.5, which speaks it for `pipe`,
`filter` and `execute`.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.errors import PeerError

TAKEN: Final = b"+\n"
REFUSED: Final = b"-\n"
# bytes before the message; twelve arguments as long as Pigeonhole lets them be
MAX_HEAD: Final = 32 * 1024
MAX_ARGUMENTS: Final = 32

_VERSION: Final = re.compile(rb"VERSION\tscript\t([0-9]{1,3})\t[0-9]{1,9}")
_VERSIONS: Final = frozenset({b"3", b"4"})
_MODES: Final = {b"-": True, b"noreply": False}
_PREAMBLE: Final = (b"env_", b"alarm=")
_ESCAPE: Final = re.compile(rb"\x01(.)", re.DOTALL)
_ESCAPED: Final = {b"0": b"\0", b"1": b"\x01", b"t": b"\t", b"r": b"\r", b"n": b"\n"}
_SHOWN: Final = 60  # bytes of a broken line in the log


class SieveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a script says."""

    arguments: dict[str, str]
    wants_answer: bool
    raw: bytes  # as much of the message as is kept
    size: int  # of the whole message, in bytes


class SieveCodec:
    """Reads one connection's request.

    Args:
        keep: bytes of the message that are kept; the rest is counted.
    """

    __slots__ = ("_body", "_head", "_keep", "_request", "_size")

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._head = bytearray()
        self._request: tuple[dict[str, str], bool] | None = None  # once the head is whole
        self._body = bytearray()
        self._size = 0

    @property
    def begun(self) -> bool:
        """Whether anything was said."""
        return self._request is not None or bool(self._head)

    @property
    def wants_answer(self) -> bool:
        """Whether the client waits for an answer; so does one that has not said it yet."""
        return self._request is None or self._request[1]

    @property
    def is_probe(self) -> bool:
        """Whether this is a script that says nothing: somebody asks whether we are there."""
        return self._request is not None and not self._request[0]

    def feed(self, data: bytes) -> None:
        """Take the next bytes.

        Guaranteed: the same bytes give the same request and the same error in whatever pieces they
        come.

        Raises:
            PeerError: they break the protocol; feed nothing more.
        """
        if self._request is not None:
            self._take(data)
            return
        searched = max(len(self._head) - 1, 0)  # the empty line may lie across two pieces
        self._head += data
        end = self._head.find(b"\n\n", searched)
        if (len(self._head) if end < 0 else end) > MAX_HEAD:
            raise PeerError(f"more than {MAX_HEAD} bytes before the message")
        if end >= 0:
            self._request = _head(bytes(self._head[:end]))
            self._take(bytes(self._head[end + 2 :]))
            self._head.clear()

    def end(self) -> SieveRequest:
        """Return the request: the client has shut its side.

        Raises:
            PeerError: it went before it had said all.
        """
        if self._request is None:
            raise PeerError(f"the connection ended in the middle: {bytes(self._head[-_SHOWN:])!r}")
        arguments, wants_answer = self._request
        return SieveRequest(
            arguments=arguments, wants_answer=wants_answer, raw=bytes(self._body), size=self._size
        )

    def _take(self, data: bytes) -> None:
        self._size += len(data)
        room = self._keep - len(self._body)
        if room > 0:
            self._body += data[:room]


def _head(head: bytes) -> tuple[dict[str, str], bool]:
    """Return the arguments, and whether an answer is wanted.

    Raises:
        PeerError: it is no head of this protocol.
    """
    first, *lines = head.split(b"\n")
    version = _VERSION.fullmatch(first)
    if version is None or version[1] not in _VERSIONS:
        raise PeerError(f"not a script of Dovecot: {first[:_SHOWN]!r}")
    place = 0
    while place < len(lines) and lines[place].startswith(_PREAMBLE):
        place += 1
    if place == len(lines) or lines[place] not in _MODES:
        raise PeerError("it does not say whether it wants an answer")
    return arguments(lines[place + 1 :]), _MODES[lines[place]]


def arguments(lines: list[bytes]) -> dict[str, str]:
    """Return what `name=value` lines say, Dovecot's escapes undone.

    Raises:
        PeerError: one is none, comes twice, or there are too many.
    """
    if len(lines) > MAX_ARGUMENTS:
        raise PeerError(f"more than {MAX_ARGUMENTS} arguments")
    values: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition(b"=")
        if not equals or not name.isalpha():
            raise PeerError(f"not name=value: {line[:_SHOWN]!r}")
        key = name.decode("ascii")
        if key in values:
            raise PeerError(f"{key} comes twice")
        values[key] = _ESCAPE.sub(_plain, value).decode("utf-8", "replace")
    return values


def _plain(escape: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(escape[1], escape[1])
