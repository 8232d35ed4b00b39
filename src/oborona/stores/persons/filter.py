"""Who may have said something: a Bloom filter with one hash, so that nobody else's mail pays for
the look.

With 100,000 persons in it one in twenty others is looked up in vain; with a million one in three.

Source: B. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

BITS: Final = 1 << 21  # 256 KiB a worker


class PersonFilter:
    """A set of names that only grows, and has some that were never added."""

    __slots__ = ("_octets",)

    def __init__(self) -> None:
        self._octets = bytearray(BITS >> 3)

    def add(self, name: str) -> bool:
        """Add a name; return whether the filter has changed."""
        place, bit = _place(name)
        new = not self._octets[place] & bit
        self._octets[place] |= bit
        return new

    def __contains__(self, name: str) -> bool:
        place, bit = _place(name)
        return bool(self._octets[place] & bit)


def _place(name: str) -> tuple[int, int]:
    number = crc32(name.encode("utf-8", "surrogatepass")) % BITS
    return number >> 3, 1 << (number & 7)
