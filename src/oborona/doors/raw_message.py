"""One message, put together from what a mail server sends in pieces, byte for byte and in bounded
memory.

A mail server hands over each header (name, value with folded lines parted by a bare newline) and
the body in chunks. The message is rebuilt with CRLF: name ":" value CRLF for each header, an empty
line, the chunks. With the leading space of values kept (SMFIP_HDR_LEADSPC) the result is what came
over SMTP; without, a mail server eats one space and it is given back, so that "Subject:x" becomes
"Subject: x".

Beyond `limit_bytes` the head is kept and the rest counted. The names of headers are kept beyond it
too, up to MAX_HEADERS: who forges a header of ours behind a megabyte of padding is still seen.

What is kept takes room that all messages share (`milter.room`), until the message is forgotten.
Where there is none left, the message is let go, and only counted from there on: it is `crowded`.

Known limits: white space before a header's colon is not handed over by mail servers and is lost.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.doors.memory_budget import MemoryReservation

MAX_HEADERS: Final = 10_000  # about 1.5 MB of names at worst; honest mail has under 200 headers
ROOM_STEP: Final = 8 << 10  # taken beyond what is there, so that not each header asks


class RawMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as the mail server handed it over.

    Args:
        raw: header block, empty line and body with CRLF; the head of it when `truncated`.
        headers: name and value of each, in order, values as in `raw` (leading space and folding
            kept); empty values for those beyond the limit. The n-th of a name here is the n-th that
            the mail server counts.
        size: bytes of the whole message; a lower bound when the mail server was told to skip the
            rest.
        truncated: something is missing from `raw` or `headers`.
    """

    raw: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    size: int
    truncated: bool = False


class RawMessageBuilder:
    """Collects one message after the other; nothing of one reaches the next.

    Args:
        limit_bytes: what is kept of one message, at least; memory stays within it plus the names of
            headers.
        held: of the room for messages; nothing as yet.
    """

    __slots__ = (
        "_headers", "_held", "_in_body", "_kept", "_left", "_room_left", "_size", "_truncated", "crowded", "limit_bytes",
    )  # fmt: skip

    def __init__(self, limit_bytes: int, reservation: MemoryReservation) -> None:
        self.limit_bytes = limit_bytes
        self._held = reservation
        self.crowded = False  # there was no room for the message at hand, or the last one
        self._begin()

    def reset(self) -> None:
        """Forget the message at hand, and give the room of it and of the last one back."""
        self._held.leave()
        self.crowded = False
        self._begin()

    def _begin(self) -> None:
        self._kept: list[bytes] = []
        self._headers: list[tuple[bytes, bytes]] = []
        self._left = self.limit_bytes
        self._room_left = self.limit_bytes  # `_left` where the room that was taken ends
        self._size = 0
        self._in_body = False
        self._truncated = False

    @property
    def full(self) -> bool:
        """Whether further body chunks would only be counted."""
        return self._truncated

    def header(self, name: bytes, value: bytes, *, leading_space: bool) -> None:
        """Add one header.

        Args:
            name: without colon.
            value: folded lines parted by a newline, a carriage return before it is taken too.
            leading_space: the value still has the white space that followed the colon.
        """
        if b"\n" in value:
            value = value.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        if not leading_space:
            value = b" " + value
        line = b"%b:%b\r\n" % (name, value)
        whole = len(line) <= self._left
        self._keep(line)
        if len(self._headers) < MAX_HEADERS:
            self._headers.append((name, value if whole else b""))
        else:
            self._truncated = True

    def body(self, chunk: bytes) -> None:
        """Add the next piece of the body, as it came over SMTP."""
        if not self._in_body:
            self._in_body = True
            self._keep(b"\r\n")
        self._keep(chunk)

    def finish(self) -> RawMessage:
        """Return the message and forget it; its room stays taken until `reset`."""
        if not self._in_body:
            self._keep(b"\r\n")
        message = RawMessage(
            raw=b"".join(self._kept),
            headers=tuple(self._headers),
            size=self._size,
            truncated=self._truncated,
        )
        self._begin()
        return message

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if len(data) > self._left:
            self._truncated = True
            data = data[: self._left]
        if data:
            self._left -= len(data)
            self._kept.append(data)
            if self._left < self._room_left:
                self._take_room()

    def _take_room(self) -> None:
        """Take room for what is kept, and a little more.

        Where there is none, let the message go.
        """
        size = self.limit_bytes - self._left
        for ahead in (ROOM_STEP, 0):
            if self._held.grow(size + ahead):
                self._room_left = self._left - ahead
                return
        self._held.leave()
        self._kept.clear()
        self._headers.clear()
        self._left = self._room_left = 0
        self._truncated = self.crowded = True
