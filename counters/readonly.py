"""What the store has, for tools beside a running daemon.

Nothing is added and nobody is disturbed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Self

import lmdb

from oborona import state_files
from oborona.counters import decode
from oborona.counters.core import keys_of, window_totals
from oborona.counters.doorkeeper_file import DoorkeeperReader
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.record import KEY_BYTES
from oborona.counters.rows import NOTHING, from_zero
from oborona.counters.stored_rows import records_of
from oborona.counters.top import TOP_LIMIT, Ranks, candidates, ranked
from oborona.counters.window import Timeline, bucket_of
from oborona.errors import StoreAbsent, StoreError
from oborona.types import CounterPrefix, Metric, Shingle, Window


class ReadOnlyCounters:
    """Reads what the store has; for tools beside a running daemon.

    Close it, or use it as a context.
    """

    def __init__(self, reader: LmdbReader) -> None:
        self._reader = reader
        self._doorkeeper = DoorkeeperReader(reader.directory)

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[list[list[int]]]:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted.

        Raises:
            StoreError: the store cannot answer.
        """
        keys = keys_of(shingles, prefix)
        with self._transaction() as txn:
            records = list(map(txn.get, keys, repeat(b"")))
            slots = self._doorkeeper.slots(txn)
            rows, signed = window_totals(keys, records, slots, bucket_of(now), NOTHING)
        return list(map(from_zero, rows)) if signed else rows

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        """Return, for each shingle, 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: the store cannot answer.
        """
        records = self._records(keys_of(shingles, prefix), now)
        return [decode.timeline(record, now) for record in records]

    def sizes(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[int]:
        """Return the octets that each shingle's key and record take; 0 where there is none.

        Raises:
            StoreError: the store cannot answer.
        """
        records = self._records(keys_of(shingles, prefix), now)
        return [KEY_BYTES + len(record) if record else 0 for record in records]

    async def top(
        self,
        shingle_type: int,
        metric: Metric,
        window: Window,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
        limit: int = TOP_LIMIT,
    ) -> Ranks:
        """Return the shingles of a type that counted most of a metric in a window at `now`,
        heaviest first.

        Each count is exact; `heavy_hitters.py` says which shingles may be missing.

        Raises:
            StoreError: the store cannot answer.
        """
        with self._transaction() as txn:
            shingles = candidates(txn, shingle_type, metric, prefix)
        return ranked(shingles, await self.read(shingles, now, prefix), metric, window, limit)

    def close(self) -> None:
        """Let go of the store."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _records(self, keys: list[bytes], now: float) -> list[bytes]:
        with self._transaction() as txn:
            return records_of(txn, keys, self._doorkeeper, now)

    @contextmanager
    def _transaction(self) -> Iterator[lmdb.Transaction[bytes]]:
        with self._reader.transaction() as txn:
            if txn is None:
                raise StoreError(f"no counter store in {self._reader.directory} any more")
            yield txn


def open_reader(directory: str | os.PathLike[str]) -> ReadOnlyCounters:
    """Open a store for reading only; a running daemon is not disturbed.

    What workers have flushed and the writer has not applied, 0.2 s as a rule, is not in it.

    Raises:
        StoreError: there is no store, or it cannot be read; StoreVersion if it is newer than this
            program.
    """
    reader = LmdbReader(Path(directory))
    with reader.transaction() as txn:
        if txn is None:
            raise StoreAbsent(
                f"no counter store in {directory}: has the writer run?", state_files.COUNTERS
            )
    return ReadOnlyCounters(reader)
