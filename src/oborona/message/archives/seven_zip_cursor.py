"""Reads what headers of 7z are made of: numbers of one to nine octets, bits, CRCs.

Within a limit on all of them together.
"""

from __future__ import annotations

from typing import Final

# numbers and bits of one header: 10,000 files with all there is to say of them, some 50 ms
MAX_READS: Final = 150_000
MAX_COUNT: Final = 10_000  # of anything in a header; beyond it nothing is listed


class SevenZipCursor:
    """A place in the octets of a header; beyond the end, or a limit, it raises IndexError."""

    __slots__ = ("_left", "_octets", "_position")

    def __init__(self, octets: bytes, left: list[int] | None = None) -> None:
        self._octets = octets
        self._position = 0
        self._left = left or [MAX_READS]  # one number that all cursors of a header share

    def _spend(self, reads: int) -> None:
        self._left[0] -= reads
        if self._left[0] < 0:
            raise IndexError(reads)

    def piece(self, length: int) -> SevenZipCursor:
        """Return a cursor on the next `length` octets alone, under the same limit."""
        return SevenZipCursor(self.octets(length), self._left)

    def octet(self) -> int:
        """Return the next octet."""
        octet = self._octets[self._position]
        self._position += 1
        return octet

    def octets(self, length: int) -> bytes:
        """Return the next `length` octets."""
        start, self._position = self._position, self._position + length
        if self._position > len(self._octets):
            raise IndexError(length)
        return self._octets[start : self._position]

    def rest(self) -> bytes:
        """Return all that follows."""
        return self._octets[self._position :]

    def number(self) -> int:
        """Return a number: the leading ones of its first octet say how many octets follow."""
        self._spend(1)
        first = self.octet()
        value, mask = 0, 0x80
        for shift in range(0, 64, 8):
            if not first & mask:
                return value | (first & (mask - 1)) << shift
            value |= self.octet() << shift
            mask >>= 1
        return value

    def count(self, least: int = 0, most: int = MAX_COUNT) -> int:
        """Return a number that something will be repeated by."""
        number = self.number()
        if not least <= number <= most:
            raise IndexError(number)
        return number

    def bits(self, count: int) -> list[bool]:
        """Return so many bits, the highest of each octet first."""
        self._spend(count)
        octets = self.octets(-(-count // 8))
        return [bool(octets[place >> 3] & 0x80 >> (place & 7)) for place in range(count)]

    def digests(self, count: int) -> list[int]:
        """Return CRCs, -1 where there is none."""
        self._spend(count)
        defined = [True] * count if self.octet() else self.bits(count)
        return [
            int.from_bytes(self.octets(4), "little") if is_defined else -1 for is_defined in defined
        ]
