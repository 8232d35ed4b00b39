"""A compound file (OLE2; MS-CFB 12.0): its directory and its streams.

A reader of our own, as olefile 0.47 builds the tree of the directory by recursion, and asks a
stranger's numbers how deep and how large.  The directory is read flat here: macros are found by the
names and contents of streams, wherever they hang.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Final, NamedTuple

_HEADER: Final = 512
_ENTRY: Final = 128  # octets of a directory entry
MAX_ENTRIES: Final = 2000  # directory entries read: a workbook with 300 macro modules has 700
MAX_SECTORS: Final = 1 << 16  # of the allocation table: 32 MB of sectors
_NONE: Final = 0xFFFFFFFA  # from here on a number is no sector
_STREAM: Final = 2
_ROOT: Final = 5


class OleStream(NamedTuple):
    """A stream by its directory entry."""

    name: str
    start: int
    size: int


class CompoundFile:
    """Reads from octets that begin with the mark; what is broken reads as empty.  Never raises."""

    __slots__ = (
        "_cutoff",
        "_mini",
        "_mini_shift",
        "_mini_table",
        "_octets",
        "_shift",
        "_table",
        "names",
        "streams",
    )

    def __init__(self, octets: bytes) -> None:
        """Read the allocation tables and the directory.

        Args:
            octets: of the file.

        """
        self._octets = octets
        self.names: list[str] = []  # of storages and streams
        self.streams: list[OleStream] = []
        self._table: tuple[int, ...] = ()
        self._mini_table: tuple[int, ...] = ()
        self._mini = b""
        if len(octets) < _HEADER:
            return
        self._shift, self._mini_shift = unpack_from("<HH", octets, 30)
        # 512 and 4096 octets; minis of 64
        if self._shift not in {9, 12} or not 4 <= self._mini_shift <= 8:
            return
        directory, self._cutoff, mini_table = unpack_from("<L4xLL", octets, 48)
        self._table = self._allocation()
        root = self._directory(self._chain(directory, MAX_ENTRIES * _ENTRY))
        if root is not None:
            packed = self._chain(mini_table, MAX_SECTORS)
            self._mini_table = unpack_from(f"<{len(packed) // 4}L", packed)
            self._mini = self._chain(root.start, root.size)

    def read(self, stream: OleStream, limit: int) -> bytes:
        """Return the first octets of a stream."""
        size = min(stream.size, limit)
        if stream.size >= self._cutoff:
            return self._chain(stream.start, size)
        out = bytearray()
        sector = stream.start
        while len(out) < size and sector < len(self._mini_table):
            at = sector << self._mini_shift
            out += self._mini[at : at + (1 << self._mini_shift)]
            if at >= len(self._mini):
                break
            sector = self._mini_table[sector]
        return bytes(out[:size])

    def _allocation(self) -> tuple[int, ...]:
        """Return the table that says which sector follows which."""
        octets = self._octets
        per_sector = (1 << self._shift) // 4
        places = list(unpack_from("<109L", octets, 76))
        following = unpack_from("<L", octets, 68)[0]
        # sectors of the table
        needed = min(len(octets) >> self._shift, MAX_SECTORS) // per_sector + 1
        while len(places) < needed and following < _NONE:
            at = (following + 1) << self._shift
            if at + (1 << self._shift) > len(octets):
                break
            *more, following = unpack_from(f"<{per_sector}L", octets, at)
            places += more
        table: list[int] = []
        for place in places[:needed]:
            at = (place + 1) << self._shift
            if place >= _NONE or at + (1 << self._shift) > len(octets):
                break
            table += unpack_from(f"<{per_sector}L", octets, at)
        return tuple(table)

    def _chain(self, sector: int, limit: int) -> bytes:
        """Return what a chain of sectors holds, up to a limit.

        A ring ends there, or at the file's own size.
        """
        out = bytearray()
        size = 1 << self._shift
        limit = min(limit, len(self._octets))
        while len(out) < limit:
            at = (sector + 1) << self._shift
            if at >= len(self._octets):
                break
            out += self._octets[at : at + size]
            if sector >= len(self._table):
                break
            sector = self._table[sector]
        return bytes(out[:limit])

    def _directory(self, octets: bytes) -> OleStream | None:
        root: OleStream | None = None
        for at in range(0, len(octets) - _ENTRY + 1, _ENTRY):
            length, kind = unpack_from("<HB", octets, at + 64)
            if not kind:
                continue
            name = octets[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
            start, size = unpack_from("<LL", octets, at + 116)
            self.names.append(name)
            if kind == _STREAM:
                self.streams.append(OleStream(name, start, size))
            elif kind == _ROOT and root is None:
                root = OleStream(name, start, size)
        return root
