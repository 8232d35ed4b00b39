"""One file of the index: hashes in order, and beside each the id of a message that carries it.

Written once, never changed.

    magic    4 bytes
    version  u32
    hour     i64    of all its messages, hours since the Unix epoch
    rows     u64
    sums     u32 u32  CRC-32 of the hashes and of the ids
    hashes   u64 each, ascending
    ids      u64 each, ascending among those of one hash

All numbers are little-endian.  A file is mapped, not read: a hash is found by bisection, which
touches some twenty pages.  Length and header are checked when it is opened, the sums when it is
merged.  A damaged page gives at worst a message without the hash, which the caller sees when it
looks at the message, or misses one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import numpy as np

from oborona.atomic_file import atomic_writer
from oborona.errors import StoreError
from oborona.journal.index.pieces import Numbers
from oborona.sqlite_file import SqliteFileDamaged

MAGIC: Final = b"OBIX"
VERSION: Final = 1
HEADER: Final = struct.Struct("<4sIqQII")
ROW_BYTES: Final = 16
SLICE_ROWS: Final = 1 << 17  # that a merge takes at once, about: 5 ms, 10 MB of memory

_U64: Final = np.dtype("<u8")


class IndexSegment(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """An open file; its pages stay readable after it was deleted."""

    path: Path
    hour: int
    hashes: Numbers
    ids: Numbers
    sums: tuple[int, int]

    @property
    def rows(self) -> int:
        """How many it has."""
        return len(self.hashes)

    def check(self) -> None:
        """Compare it with its sums.

        Raises:
            Damaged: it is not what was written.
        """
        if (zlib.crc32(self.hashes.data), zlib.crc32(self.ids.data)) != self.sums:
            raise SqliteFileDamaged(f"{self.path}: is damaged (its sums differ)")


def write(path: Path, hour: int, hashes: Numbers, ids: Numbers) -> IndexSegment:
    """Write rows, in whatever order, as one file.

    Args:
        path: of the file; its folder exists.
        hour: of all the ids.
        hashes: at least one.
        ids: beside each hash that of its message.

    Raises:
        StoreError: it can't be written; nothing is left of it.
    """
    order = np.lexsort((ids, hashes))
    with atomic_writer(path) as file:
        writer = _Writer(file, hour, len(hashes))
        writer.add(hashes[order], ids[order])
        writer.finish()
    return read(path)


def read(path: Path) -> IndexSegment:
    """Open a file.

    Raises:
        Damaged: it is missing, cut short or none of ours.
        StoreError: it can't be read.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(HEADER.size)
        magic, version, hour, rows, *sums = HEADER.unpack(header)
        if (
            magic != MAGIC
            or version != VERSION
            or not rows
            or size != HEADER.size + ROW_BYTES * rows
        ):
            raise SqliteFileDamaged(f"{path}: is damaged (cut short, or no part of an index)")
        mapped = np.memmap(path, dtype=_U64, mode="r", offset=HEADER.size, shape=(2, rows))
    except (FileNotFoundError, struct.error) as error:
        raise SqliteFileDamaged(f"{path}: is damaged ({error})") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    columns = mapped.view(np.ndarray)
    return IndexSegment(
        path=path, hour=hour, hashes=columns[0], ids=columns[1], sums=(sums[0], sums[1])
    )


def merge(path: Path, segments: Sequence[IndexSegment]) -> Iterator[IndexSegment | None]:
    """Write several files of one hour as one, in slices: yields None after each but the last, which
    gives the file.

    Whoever asks for no more slices leaves nothing behind.

    Args:
        path: of the new file.
        segments: at least one; all of one hour.

    Raises:
        Damaged: one of them is not what was written.
        StoreError: it can't be written.
    """
    for segment in segments:
        segment.check()
        yield None
    rows = sum(segment.rows for segment in segments)
    slices = rows // SLICE_ROWS + 1
    # Hashes are spread evenly: slices of their range are of nearly one size.
    bounds = [(1 << 64) // slices * number for number in range(1, slices)]
    cuts = [
        [
            0,
            *np.searchsorted(segment.hashes, np.array(bounds, dtype=np.uint64)).tolist(),
            segment.rows,
        ]
        for segment in segments
    ]
    with atomic_writer(path) as file:
        writer = _Writer(file, segments[0].hour, rows)
        for number in range(slices):
            hashes = np.concatenate(
                [
                    segment.hashes[cut[number] : cut[number + 1]]
                    for segment, cut in zip(segments, cuts, strict=True)
                ]
            )
            ids = np.concatenate(
                [
                    segment.ids[cut[number] : cut[number + 1]]
                    for segment, cut in zip(segments, cuts, strict=True)
                ]
            )
            order = np.lexsort((ids, hashes))
            writer.add(hashes[order], ids[order])
            yield None
        writer.finish()
    yield read(path)


class _Writer:
    """Writes two columns side by side: their lengths are known before."""

    def __init__(self, file: BinaryIO, hour: int, rows: int) -> None:
        self._file = file
        self._hour = hour
        self._rows = rows
        self._done = 0
        self._sums = (0, 0)

    def add(self, hashes: Numbers, ids: Numbers) -> None:
        """Write the next rows of both."""
        octets = hashes.astype(_U64).tobytes(), ids.astype(_U64).tobytes()
        for place, column in zip((self._done, self._rows + self._done), octets, strict=True):
            self._file.seek(HEADER.size + 8 * place)
            self._file.write(column)
        self._done += len(hashes)
        self._sums = zlib.crc32(octets[0], self._sums[0]), zlib.crc32(octets[1], self._sums[1])

    def finish(self) -> None:
        """Write the header, when all rows are there."""
        assert self._done == self._rows
        self._file.seek(0)
        self._file.write(HEADER.pack(MAGIC, VERSION, self._hour, self._rows, *self._sums))
