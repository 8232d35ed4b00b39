"""Memory for the bodies of requests: so many bytes for all of them together.

with room.hold() as held:
    held.more(len(piece)) tells whether a piece still fits; all of it is given back at the end
"""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Room:
    """Bytes for bodies.

    Args:
        most: together.
    """

    __slots__ = ("held", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0

    def hold(self) -> Held:
        """Return a part of it, as yet empty."""
        return Held(self)


class Held:
    """What one request has of the room."""

    __slots__ = ("_bytes", "_room")

    def __init__(self, room: Room) -> None:
        self._room = room
        self._bytes = 0

    def more(self, count: int) -> bool:
        """Take so many bytes more if they are there, and tell."""
        if self._room.held + count > self._room.most:
            return False
        self._room.held += count
        self._bytes += count
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self._room.held -= self._bytes
        self._bytes = 0
