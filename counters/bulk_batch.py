"""The encoding of a spool's records from columns: many keys that are seen, each with its number.

The records are as those of `batch.encode`; keys and counts come as arrays, so that a million of
them cost a second instead of ten.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.counters.batch import (
    FORGETS_NOTHING,
    KEYS,
    MAGIC,
    PAIR,
    REST,
    SEGMENT,
    START,
    Cells,
    Keys,
)
from oborona.counters.record import (
    BUCKET_SHIFT,
    DIGIT,
    DIGIT_BITS,
    KEY_BYTES,
    LEVEL_SHIFT,
    LEVELS,
    PREFIXES,
    RING,
)
from oborona.counters.window import bucket_of
from oborona.types import CounterPrefix

ENTRIES_A_RECORD: Final = 100_000  # 1.8 MB: what a writer reads in one go
PAIRS: Final = np.dtype([("both", KEYS), ("distinct", KEYS), ("bucket", "<i8")])
assert PAIRS.itemsize == PAIR.size


def keys_of_hashes(prefix: CounterPrefix, kind: int, hashes: npt.NDArray[np.uint64]) -> Keys:
    """Return the keys of shingles of one type under one prefix."""
    keys = np.empty(len(hashes), KEYS)
    keys["head"] = PREFIXES[prefix] << 8 | kind
    keys["hash"] = hashes
    return keys


def seen_cells(keys: Keys, seen: npt.NDArray[np.int64], time: float) -> tuple[Keys, Cells]:
    """Return keys and cells that count each key as seen so many times, in the bucket of a time.

    A key that is seen 128 times and more has several cells; one that is not seen has none.
    """
    head = np.uint64((bucket_of(time) % RING) << BUCKET_SHIFT)
    all_keys, all_cells = [], []
    left = seen.astype(np.uint64)
    for level in range(LEVELS):
        digits = left & np.uint64(DIGIT)
        rows = digits > 0
        all_keys.append(keys[rows])
        all_cells.append(digits[rows] | head | np.uint64(level << LEVEL_SHIFT))
        left >>= np.uint64(DIGIT_BITS)
        if not left.any():
            break
    return np.concatenate(all_keys, dtype=KEYS), np.concatenate(all_cells)


def pairs_of_hashes(
    prefix: CounterPrefix,
    both: tuple[int, npt.NDArray[np.uint64]],
    distinct: tuple[int, npt.NDArray[np.uint64]],
    time: float,
) -> npt.NDArray[np.void]:
    """Return unique pairs, P and U by type and hash, first seen at a time."""
    pairs = np.empty(len(both[1]), PAIRS)
    pairs["both"] = keys_of_hashes(prefix, *both)
    pairs["distinct"] = keys_of_hashes(prefix, *distinct)
    pairs["bucket"] = bucket_of(time)
    return pairs


def encode_records(
    keys: Keys, cells: Cells, pairs: npt.NDArray[np.void], time: float, *, first: int = 1
) -> Iterator[bytes]:
    """Yield the records that hold all of it, of about 2 MB, numbered from `first` on.

    Args:
        keys: beside `cells`, a key again for each further cell.
        cells: all of the bucket of `time`.
        pairs: of `PAIRS`.
        time: Unix seconds, of the flush and of all counts.
        first: sequence of the first record.
    """
    bucket, sequence = bucket_of(time), first
    for at in range(0, max(len(keys), len(pairs)), ENTRIES_A_RECORD):
        some = keys[at : at + ENTRIES_A_RECORD]
        some_pairs = pairs[at : at + ENTRIES_A_RECORD]
        covered = b"".join(
            (
                REST.pack(sequence, time, len(some), len(some_pairs)),
                SEGMENT.pack(bucket, len(some)),
                some.tobytes(),
                cells[at : at + ENTRIES_A_RECORD].astype("<u8").tobytes(),
                some_pairs.tobytes(),
            )
        )
        yield _start(covered) + covered
        sequence += 1


def _start(covered: bytes) -> bytes:
    """Return the head of a record of one segment."""
    length = len(covered) - REST.size
    return START.pack(MAGIC, FORGETS_NOTHING, 1, length, zlib.crc32(covered))


assert KEYS.itemsize == KEY_BYTES == struct.calcsize(">HQ")
