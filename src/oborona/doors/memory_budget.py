"""A memory budget for messages that come in or are judged: so many octets for all of them together,
of all listeners.

with room.hold() as held:
    held.more(len(piece)) tells whether a piece still fits; all of it is given back at the end

Connections are many and cheap; what a stranger can fill is the messages that they carry.  Who finds
no room is told to come again.
"""

from __future__ import annotations

from threading import Lock
from types import TracebackType
from typing import Self


class MemoryBudget:
    """Octets for messages.

    Args:
        most: together.
    """

    __slots__ = ("_lock", "held", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0
        self._lock = Lock()  # messages come in by threads, too

    def hold(self) -> MemoryReservation:
        """Return a part of it, as yet empty."""
        return MemoryReservation(self)

    def move(self, change: int) -> bool:
        """Take so many octets more if they are there, or give so many back, and tell."""
        with self._lock:
            if change > 0 and self.held + change > self.most:
                return False
            self.held += change
            return True


class MemoryReservation:
    """What one message has of the room."""

    __slots__ = ("_octets", "_room")

    def __init__(self, room: MemoryBudget) -> None:
        self._room = room
        self._octets = 0

    def more(self, count: int) -> bool:
        """Take so many octets more if they are there, and tell."""
        return self.grow(self._octets + count)

    def fits(self, count: int) -> bool:
        """Tell whether so many octets more are there now, and take none."""
        return self._room.held + count <= self._room.most

    def grow(self, whole: int) -> bool:
        """Have so many octets in all if they are there, and tell; what is held never shrinks."""
        if whole > self._octets:
            if not self._room.move(whole - self._octets):
                return False
            self._octets = whole
        return True

    def leave(self) -> None:
        """Give all of it back."""
        if self._octets:
            self._room.move(-self._octets)
            self._octets = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()
