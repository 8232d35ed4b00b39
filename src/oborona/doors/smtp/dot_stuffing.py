r"""The content of a message as LMTP carries it, taken out of its dots and put back into them.

No socket, no clock.

A message ends at CRLF . CRLF and nowhere else.  A line feed that stands alone becomes CRLF on the
way in: RFC 5321 forbids it, and next hops that take LF . CRLF for the end (Dovecot 2.3 does) would
read what follows as commands, and deliver what nobody judged.  A carriage return that stands alone,
and a NUL, are content here and told: a next hop that takes the one for the end of a line, or drops
the other, would see an end of the message in CR . CR or CRLF NUL . CRLF.

Source: RFC 5321 sections 2.3.8 (lines end with CRLF) and 4.5.2 (transparency).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

END: Final = b"\r\n.\r\n"
GATHERED_BYTES: Final = 64 * 1024  # that are written at once, at least: each write is a system call
_BARE_LF: Final = re.compile(rb"(?<!\r)\n")


class DotUnstuffer:
    """Takes one message out of its dots.

    `feed` it until `over`; after that feed it no more.
    """

    __slots__ = ("_bare", "_held", "over", "rest", "stray")

    def __init__(self) -> None:
        self.over = False  # the end was seen
        self.rest = b""  # what came behind it
        self.stray = False  # a carriage return without a line feed, or a NUL, was in it
        # what may be the beginning of an end; at first as if a line stood before
        self._held = b"\r\n"
        self._bare = 2  # bytes of that which never came

    def feed(self, data: bytes) -> bytes:
        """Return the content that these bytes add.

        Guaranteed: the same bytes give the same content in whatever pieces they come; every line
        feed in it stands behind a carriage return, and content that is not empty ends with a line
        once `over`.

        Args:
            data: the next bytes.
        """
        data = self._held + data
        end = data.find(END)
        if end >= 0:
            self.over, self.rest = True, data[end + len(END) :]
            content, self._held = data[: end + 2], b""
        else:
            keep = _begun(data)
            content, self._held = data[: len(data) - keep], data[len(data) - keep :]
        if not content:
            return b""
        lines = content.count(b"\r\n")  # it never ends with a carriage return: that is held
        if not self.stray:
            self.stray = content.count(b"\r") != lines or b"\0" in content
        content = content.replace(b"\r\n.", b"\r\n")
        if content.count(b"\n") != lines:
            content = _BARE_LF.sub(b"\r\n", content)
        content, self._bare = content[self._bare :], 0
        return content


def stuff_dots(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a message as it goes over the wire, its end included; one that is small at once.

    Args:
        pieces: of the content, whose line feeds all stand behind carriage returns; a last line
            without an end gets one.
    """
    gathered: list[bytes] = []
    size = 0
    for piece in _stuffed(pieces):
        gathered.append(piece)
        size += len(piece)
        if size >= GATHERED_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _stuffed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    tail, bare = b"\r\n", 2
    for piece in pieces:
        data = tail + piece
        keep = 2 if data.endswith(b"\r\n") else 1 if data.endswith(b"\r") else 0
        ready, tail = data[: len(data) - keep], data[len(data) - keep :]
        if ready:
            yield ready.replace(b"\r\n.", b"\r\n..")[bare:]
            bare = 0
    yield (tail if tail == b"\r\n" else tail + b"\r\n")[bare:] + b".\r\n"


def _begun(data: bytes) -> int:
    """Return how many bytes at the end may be the beginning of an end."""
    for length in range(min(len(END) - 1, len(data)), 0, -1):
        if data.endswith(END[:length]):
            return length
    return 0
