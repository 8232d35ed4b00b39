"""What an LMTP server answers, as bytes in and whole answers out.

And our own words where it gives none.  No socket, no clock.

An answer is kept as it came, line by line, so that it can be passed on unchanged.

Source: RFC 5321 section 4.2 (answers of one line and of several), RFC 2033 section 4.2 (one for
each recipient), RFC 3463 (enhanced codes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from oborona.errors import PeerError

MAX_LINE: Final = 4096  # bytes; RFC 5321 section 4.5.3.1.5 says 512
MAX_LINES: Final = 128  # of one answer
_SHOWN: Final = 60  # bytes of a broken line in the log

_LINE: Final = re.compile(rb"([2-5][0-9]{2})(?:([ -])([^\0\r]*))?")


class SmtpReply(NamedTuple):
    """One answer."""

    code: int  # 200..599
    lines: tuple[bytes, ...]  # as they came, codes included, without their ends

    @property
    def wire(self) -> bytes:
        """It as it is passed on."""
        return b"\r\n".join(self.lines) + b"\r\n"

    @property
    def good(self) -> bool:
        """Whether the mailbox, or the command, is served: 2xx."""
        return self.code < 300

    @property
    def decides(self) -> bool:
        """Whether it can be a recipient's last word: all but 3xx."""
        return self.code // 100 != 3

    @property
    def text(self) -> str:
        """Its first line, for the log."""
        return self.lines[0].decode("utf-8", "backslashreplace")


class SmtpReplyParser:
    """Cuts the bytes of one connection into answers."""

    __slots__ = ("_line", "_lines")

    def __init__(self) -> None:
        self._line = bytearray()  # the last one, without its end
        self._lines: list[bytes] = []  # of the answer at hand

    def feed(self, data: bytes) -> Iterator[SmtpReply]:
        """Yield each answer that these bytes complete.

        Guaranteed: the same bytes give the same answers and the same error in whatever pieces they
        come.

        Args:
            data: the next bytes; exhaust the iterator before the next call.

        Raises:
            PeerError: no answers of this protocol, or one too large; feed nothing more.
        """
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._extend(end)
            line = bytes(self._line.removesuffix(b"\r"))
            self._line.clear()
            answer = self._take(line)
            if answer is not None:
                yield answer
        self._extend(rest)

    def _extend(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > MAX_LINE:
            raise PeerError(f"an answer with a line of more than {MAX_LINE} bytes")

    def _take(self, line: bytes) -> SmtpReply | None:
        match = _LINE.fullmatch(line)
        if match is None or (self._lines and self._lines[0][:3] != match[1]):
            raise PeerError(f"not an answer: {line[:_SHOWN]!r}")
        self._lines.append(line)
        if len(self._lines) > MAX_LINES:
            raise PeerError(f"an answer of more than {MAX_LINES} lines")
        if match[2] == b"-":
            return None
        lines, self._lines = tuple(self._lines), []
        return SmtpReply(int(match[1]), lines)


def own_reply(code: int, enhanced: str, words: str) -> SmtpReply:
    """Return an answer of ours.

    Args:
        code: 250, 4xx or 5xx.
        enhanced: of the same class.
        words: ASCII, one line.
    """
    assert enhanced[0] == str(code)[0]
    return SmtpReply(code, (f"{code} {enhanced} {words}".encode("ascii", "replace"),))
