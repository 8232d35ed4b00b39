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

from oborona.counters.doorkeeper_file import DoorkeeperReader
from oborona.counters.record import CELL_BYTES
from oborona.counters.rows import Row
from oborona.counters.totals_cache import TotalsCache
from oborona.counters.window import bucket_of

KEPT: Final = 4096  # rows; 3 MB
UNREAD: Final[Row] = []


class StoredRows:
    """Rows of the keys of one store, for one reading process."""

    def __init__(self, doorkeeper: DoorkeeperReader) -> None:
        self._doorkeeper = doorkeeper
        self._remembered = TotalsCache()
        self._rows: dict[bytes, Row] = {}
        self._environment: lmdb.Environment | None = None
        self._state = (0, 0)  # transaction and bucket that `_rows` are of

    @property
    def signed(self) -> bool:
        """Whether what `read` returned since the bucket began may be below zero: it was taken back
        before it was added.
        """
        return self._remembered.signed

    def is_new(
        self, txn: lmdb.Transaction[bytes], environment: lmdb.Environment | None, now: float
    ) -> bool:
        """Take a snapshot to read from; return whether it may differ from the last one."""
        state = (txn.id(), bucket_of(now))
        if state == self._state and environment is self._environment and len(self._rows) < KEPT:
            return False
        self._state, self._environment, self._rows = state, environment, {}
        return True

    def read(self, txn: lmdb.Transaction[bytes], keys: Sequence[bytes], now: float) -> list[Row]:
        """Return [key][Window][Metric] of the snapshot that `is_new` was told of.

        Not to be changed.
        """
        rows = [self._rows.get(key, UNREAD) for key in keys]
        places = [place for place, row in enumerate(rows) if row is UNREAD]
        subset = [keys[place] for place in places]
        records = list(map(_sound, map(txn.get, subset, repeat(b""))))
        is_stored = [bool(record) for record in records]
        _add_sightings(txn, subset, records, self._doorkeeper, now)
        read = self._remembered.totals(subset, records, now)
        for place, key, row, keep in zip(places, subset, read, is_stored, strict=True):
            rows[place] = row
            if keep:  # the doorkeeper's change a moment after the commit
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
