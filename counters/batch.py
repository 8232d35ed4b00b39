"""The encoding of one flush of one worker, which is one record of the spool. No file I/O here.

    header    magic "OBSP", version, segments, length of what follows the header, CRC-32 of all
              after itself, sequence in the spool (1, 2, ...), Unix time of the flush, entries,
              pairs; little-endian
    segments  (bucket, entries) each: what was counted in one ten-minute bucket
    entries   all keys of 10 bytes, then their cells of 8 bytes (`record.py`), in the segments'
              order
    pairs     key of P, key of U, bucket of the first sight

Version 2 has one more segment before the others: the keys to forget, with zero cells. Version 3 has
that segment too, possibly empty, and its last segments hold take-backs, in cells of the levels for
them. A record without take-backs is written as version 2, and one that also forgets nothing as
version 1. A record is applied as a whole or not at all, so a pair and the count of its P stay
together. The reader distinguishes a torn record (its end may still come) from a damaged one.
Limits: a damaged length field looks like a torn record until the spool ends.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.counters.buffer import AddBuffer, cells_of, taken_cells_of
from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, DIGIT, KEY_BYTES, RING
from oborona.counters.window import bucket_of
from oborona.errors import StoreVersion

MAGIC: Final = b"OBSP"
VERSION: Final = 3
TAKES_NOTHING: Final = 2
FORGETS_NOTHING: Final = 1
START: Final = struct.Struct("<4sHHII")  # magic, version, segments, length, CRC
# sequence, time, entries, pairs: the first that the CRC covers
REST: Final = struct.Struct("<QdII")
SEGMENT: Final = struct.Struct("<qI")
PAIR: Final = struct.Struct(f"<{KEY_BYTES}s{KEY_BYTES}sq")
HEADER_BYTES: Final = START.size + REST.size
LENGTH_LIMIT: Final = 64 << 20  # a full buffer is a tenth of it; more is a damaged length
KEYS: Final = np.dtype([("head", ">u2"), ("hash", ">u8")])  # a key: prefix and type, hash

Keys = npt.NDArray[np.void]  # of KEYS
Cells = npt.NDArray[np.uint64]


class BatchSegment(msgspec.Struct, frozen=True, kw_only=True):
    """What one flush counted in one bucket."""

    bucket: int
    keys: Keys
    cells: Cells  # beside `keys`; a key comes again for each further level


class SpoolBatch(msgspec.Struct, frozen=True, kw_only=True):
    """One whole record of a spool."""

    sequence: int
    time: float  # Unix seconds of the flush
    forgotten: list[bytes]  # keys to forget, before anything is added
    segments: list[BatchSegment]
    pairs: list[tuple[bytes, bytes, int]]  # P, U, bucket of the first sight
    end: int  # offset behind it
    takes: bool = False  # something is taken back in the segments


class TornRecord(Exception):  # noqa: N818 - what was found
    """The record has no end yet."""


class DamagedRecord(Exception):  # noqa: N818 - what was found
    """These bytes are no record, whatever follows."""


def encode(buffer: AddBuffer, sequence: int, now: float) -> bytes:
    """Return the record of all that a buffer holds."""
    segments: list[bytes] = []
    keys: list[bytes] = []
    cells: list[bytes] = []
    entries = len(buffer.forgotten)
    if entries or buffer.taken:
        segments.append(SEGMENT.pack(bucket_of(now), entries))
        keys += buffer.forgotten
        cells.append(bytes(CELL_BYTES * entries))
    for bucket, summed in buffer.counts.items():
        head = (bucket % RING) << BUCKET_SHIFT
        before = entries
        small: list[int] = []
        larger: list[tuple[bytes, bytes]] = []
        for key, packed in summed.items():
            if packed <= DIGIT:  # seen a few times and nothing else: nearly all of them
                keys.append(key)
                small.append(head | packed)
            else:
                larger.append((key, cells_of(packed, bucket)))
        cells.append(struct.pack(f"<{len(small)}Q", *small))
        keys += [key * (len(packed) // CELL_BYTES) for key, packed in larger]
        cells += [packed for _key, packed in larger]
        entries += len(small) + sum(len(packed) // CELL_BYTES for _key, packed in larger)
        segments.append(SEGMENT.pack(bucket, entries - before))
    for bucket, summed in buffer.taken.items():
        taken_back = [(key, taken_cells_of(packed, bucket)) for key, packed in summed.items()]
        keys += [key * (len(packed) // CELL_BYTES) for key, packed in taken_back]
        cells += [packed for _key, packed in taken_back]
        count = sum(len(packed) // CELL_BYTES for _key, packed in taken_back)
        entries += count
        segments.append(SEGMENT.pack(bucket, count))
    pairs = [
        PAIR.pack(both, distinct, bucket)
        for distinct, firsts in buffer.pairs.items()
        for (both, _day), bucket in firsts.items()
    ]
    covered = b"".join(
        [REST.pack(sequence, now, entries, len(pairs)), *segments, *keys, *cells, *pairs]
    )
    version = VERSION if buffer.taken else TAKES_NOTHING if buffer.forgotten else FORGETS_NOTHING
    start = START.pack(MAGIC, version, len(segments), len(covered) - REST.size, zlib.crc32(covered))
    return start + covered


def decode(data: bytes, offset: int = 0) -> SpoolBatch:
    """Return the record that begins at `offset`.

    Raises:
        Torn: it is cut short; the bytes that are there are right so far as can be told.
        Damaged: it can never become a record.
        StoreVersion: a newer Oborona wrote it.
    """
    if not MAGIC.startswith(data[offset : offset + len(MAGIC)]):
        raise DamagedRecord("no record begins here")
    if len(data) - offset < HEADER_BYTES:
        raise TornRecord
    magic, version, segments, length, checksum = START.unpack_from(data, offset)
    if magic != MAGIC or length > LENGTH_LIMIT:
        raise DamagedRecord("no record begins here")
    end = offset + HEADER_BYTES + length
    if end > len(data):
        raise TornRecord
    if zlib.crc32(memoryview(data)[offset + START.size : end]) != checksum:
        raise DamagedRecord("its checksum is wrong")
    if version > VERSION:
        raise StoreVersion(f"it has version {version}, this Oborona knows {VERSION}")
    sequence, time, entries, pairs = REST.unpack_from(data, offset + START.size)
    if length != segments * SEGMENT.size + entries * (KEY_BYTES + CELL_BYTES) + pairs * PAIR.size:
        raise DamagedRecord("its length and its counts differ")
    place = offset + HEADER_BYTES
    batches = []
    key_place = place + segments * SEGMENT.size
    cell_place = key_place + entries * KEY_BYTES
    pair_place = cell_place + entries * CELL_BYTES
    shape = list(SEGMENT.iter_unpack(data[place:key_place]))
    if sum(count for _bucket, count in shape) != entries:
        raise DamagedRecord("its segments and its entries differ")
    keys = np.frombuffer(data, KEYS, entries, key_place)
    cells = np.frombuffer(data, "<u8", entries, cell_place)
    at = 0
    for bucket, count in shape:
        batches.append(
            BatchSegment(bucket=bucket, keys=keys[at : at + count], cells=cells[at : at + count])
        )
        at += count
    forgotten: list[bytes] = []
    if version > FORGETS_NOTHING and batches:
        forgotten = split_keys(batches.pop(0).keys.tobytes())
    return SpoolBatch(
        sequence=sequence,
        time=time,
        forgotten=forgotten,
        segments=batches,
        pairs=list(PAIR.iter_unpack(data[pair_place:end])),
        end=end,
        takes=version > TAKES_NOTHING,
    )


def split_keys(keys: bytes) -> list[bytes]:
    """Return keys that lie one behind the other as a list."""
    return [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)]


def resume(data: bytes, offset: int) -> int:
    """Return where the next record may begin after a damaged one at `offset`.

    The end of `data` if none does.
    """
    place = data.find(MAGIC, offset + 1)
    return len(data) if place < 0 else place
