"""What the store has of keys, decoded.

What is hot is read and decoded once for each state that the writer commits.

    records   LMDB, and for keys without one the doorkeeper
    rows      their windows: kept by key until the next commit or the end of the bucket, which one
              snapshot answers alike

Between two commits, a tenth of a second apart under load, the same few hundred keys are in every
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final

import lmdb

from oborona.counters.core import window_totals
from oborona.counters.doorkeeper_file import DoorkeeperReader
from oborona.counters.record import CELL_BYTES
from oborona.counters.rows import NOTHING, Row
from oborona.counters.window import bucket_of

KEPT: Final = 4096  # rows; 3 MB
UNREAD: Final[Row] = []


class StoredRows:
    """Rows of the keys of one store, for one reading process.

    Attributes:
        signed: whether what `read` returned since `is_new` may be below zero: it was taken back
            before it was added.
    """

    def __init__(self, doorkeeper: DoorkeeperReader) -> None:
        self._doorkeeper = doorkeeper
        self.signed = False
        self._rows: dict[bytes, Row] = {}
        self._environment: lmdb.Environment | None = None
        self._state = (0, 0)  # transaction and bucket that `_rows` are of

    def is_new(
        self, txn: lmdb.Transaction[bytes], environment: lmdb.Environment | None, now: float
    ) -> bool:
        """Take a snapshot to read from; return whether it may differ from the last one."""
        state = (txn.id(), bucket_of(now))
        if state == self._state and environment is self._environment and len(self._rows) < KEPT:
            return False
        self._state, self._environment, self._rows = state, environment, {}
        self.signed = False
        return True

    def read(self, txn: lmdb.Transaction[bytes], keys: Sequence[bytes], now: float) -> list[Row]:
        """Return [key][Window][Metric] of the snapshot that `is_new` was told of.

        Not to be changed.
        """
        rows = [self._rows.get(key, UNREAD) for key in keys]
        places = [place for place, row in enumerate(rows) if row is UNREAD]
        if not places:
            return rows
        subset = [keys[place] for place in places]
        records = list(map(txn.get, subset, repeat(b"")))
        slots = self._doorkeeper.slots(txn)
        read, signed = window_totals(subset, records, slots, bucket_of(now), NOTHING)
        self.signed = self.signed or signed
        for place, key, record, row in zip(places, subset, records, read, strict=True):
            rows[place] = row
            if record:  # the doorkeeper's change a moment after the commit
                self._rows[key] = row
        return rows


def records_of(
    txn: lmdb.Transaction[bytes], keys: Sequence[bytes], doorkeeper: DoorkeeperReader, now: float
) -> list[bytes]:
    """Return the records of keys, or their one sighting; empty when there is neither."""
    records = list(map(_sound, map(txn.get, keys, repeat(b""))))
    _add_sightings(txn, keys, records, doorkeeper, now)
    return records


def _sound(record: bytes) -> bytes:
    """Return a record, or nothing for a damaged one: `verify` says so, and the next count takes its
    place.
    """
    return record if not len(record) % CELL_BYTES else b""


def _add_sightings(
    txn: lmdb.Transaction[bytes],
    keys: Sequence[bytes],
    records: list[bytes],
    doorkeeper: DoorkeeperReader,
    now: float,
) -> None:
    """Put what the doorkeeper has of keys that have no record in the place of it."""
    absent = [place for place, record in enumerate(records) if not record]
    if absent:
        absent_keys = [keys[place] for place in absent]
        for place, cell in doorkeeper.add_to(txn, absent_keys, absent, bucket_of(now)):
            records[place] = cell
