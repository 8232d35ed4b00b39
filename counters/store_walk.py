"""Walking over a whole store beside its writer, in short read transactions.

A transaction that lasted for the whole walk would keep every page freed meanwhile from being used
again. So a record that is written behind the walk's place while it goes on is not met, and one
before it is met as it is then.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import lmdb
import msgspec
import numpy as np

from oborona.counters.batch import KEYS
from oborona.counters.lmdb_store import FIRST_RECORD
from oborona.counters.record import KEY_BYTES, PREFIXES
from oborona.counters.shared_environment import reading
from oborona.types import CounterPrefix

CHUNK: Final = 10_000  # records in one transaction: 10 ms
START: Final = b"\0"


class TypeShare(msgspec.Struct, frozen=True, kw_only=True):
    """What one type of one service takes."""

    prefix: CounterPrefix
    type: int
    records: int
    bytes: int  # of keys and records; the tree takes more
    largest: int  # of one key and its record


def walk(
    environment: lmdb.Environment, place: bytes = START
) -> Iterator[list[tuple[bytes, bytes]]]:
    """Yield keys and what is stored under them, in order, some thousands at a time.

    `place` is where to begin.
    """
    while True:
        with reading(environment) as txn, txn.cursor() as cursor:
            if not cursor.set_range(place):
                return
            walked = list(islice(cursor, CHUNK))
        yield walked
        if len(walked) < CHUNK:
            return
        place = walked[-1][0] + b"\0"  # the smallest key behind the last


def shares(environment: lmdb.Environment) -> list[TypeShare]:
    """Return what each type takes, by prefix and number.

    Keys that are not ours are left to `verify`.
    """
    records = np.zeros(1 << 16, dtype=np.int64)
    sizes = np.zeros(1 << 16, dtype=np.int64)
    largest = np.zeros(1 << 16, dtype=np.int64)
    for walked in walk(environment, FIRST_RECORD):
        ours = [(key, stored) for key, stored in walked if len(key) == KEY_BYTES]
        heads = np.frombuffer(b"".join([key for key, _stored in ours]), KEYS)["head"].astype(
            np.intp
        )
        lengths = [KEY_BYTES + len(stored) for _key, stored in ours]
        records += np.bincount(heads, minlength=len(records))
        sizes += np.bincount(heads, weights=lengths, minlength=len(sizes)).astype(np.int64)
        np.maximum.at(largest, heads, lengths)
    return [
        TypeShare(
            prefix=prefix,
            type=head & 0xFF,
            records=int(records[head]),
            bytes=int(sizes[head]),
            largest=int(largest[head]),
        )
        for prefix, number in PREFIXES.items()
        for head in np.flatnonzero(records).tolist()
        if head >> 8 == number
    ]
