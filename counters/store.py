"""Counters as a worker uses them: the store, and its own adds that the store does not have yet.

    add    sums in memory
    flush  appends the sums to this worker's spool; the buffer is kept as pending until the store has it
    read   in one read transaction: how far our spool is applied (pending buffers up to there are forgotten), the
           records; to these come the cells of what is pending and of the buffer

So a worker sees its own adds at once and exactly once, and those of others when they have flushed and the writer has
stepped. Own pairs count as the store would decide them now; where one U has more than PAIRS_LOOKED_UP of them waiting,
the others count as new, an upper bound. If the writer stays away, adds go on into the spool; of what is pending the
oldest is then forgotten by reads, which count too little until it is back.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Final, Self

import lmdb
import msgspec

from oborona.counters import batch, decode, record
from oborona.counters.buffer import ENTRIES, Buffer
from oborona.counters.lmdb_store import POSITION_KEY, SPOOLS, Reader, get_position
from oborona.counters.record import KEY, PREFIXES, key_of
from oborona.counters.spool import FILE_BYTES, SYNC_S, Spool
from oborona.counters.window import METRICS, Timeline
from oborona.errors import StoreError
from oborona.types import Amounts, Pieces, Prefix, Shingle

PENDING_ENTRIES: Final = 250_000  # flushed, not applied, and still seen by reads; about 50 MB
PAIRS_LOOKED_UP: Final = 64  # of one U in one read: 40 µs
RETRY_S: Final = 1.0  # between two tries to write to a full disk


class _Pending(msgspec.Struct, frozen=True):
    sequence: int
    buffer: Buffer


class LmdbCounters:
    """The contract of `policy.ports.Counters`, for one worker process; make it after the fork, use it in one thread.

    Args:
        directory: the store's; need not exist yet, reads then give what this worker added.
        worker_name: names its spool; letters, digits, - and _.
        sync_s: what was flushed is on the disk this many seconds later.
        file_bytes: size at which a spool goes on in a new file.
        buffer_entries: keys kept in memory while nothing can be flushed.
        environment: the writer's, when it lives in this very process.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        worker_name: str,
        *,
        sync_s: float = SYNC_S,
        file_bytes: int = FILE_BYTES,
        buffer_entries: int = ENTRIES,
        environment: lmdb.Environment | None = None,
    ) -> None:
        where = Path(directory)
        self._reader = Reader(where, environment)
        self._spool = Spool(where / SPOOLS, worker_name, file_bytes=file_bytes, sync_s=sync_s)
        self._position_key = POSITION_KEY + self._spool.owner.encode()
        self._limit = buffer_entries
        self._buffer = Buffer(buffer_entries)
        self._pending: deque[_Pending] = deque()
        self._pending_entries = 0
        self._sequence = 0
        self._failed_at: float | None = None
        self._last_now = 0.0
        self._dropped = 0

    @property
    def pending(self) -> int:
        """Flushes that the store had not applied when it was last read."""
        return len(self._pending)

    @property
    def dropped(self) -> int:
        """Adds turned away since the start because the buffer was full and could not be flushed."""
        return self._dropped + self._buffer.dropped

    @property
    def stuck(self) -> bool:
        """Whether the last try to write to the spool failed: adds wait in memory."""
        return self._failed_at is not None

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN
    ) -> list[list[list[int]]]:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted.

        Raises:
            StoreError: the store cannot answer; StoreVersion if it is newer than this program.
        """
        first, pack = PREFIXES[prefix], KEY.pack
        return decode.totals(self._records([pack(first, *shingle) for shingle in shingles]), now)

    async def timeline(self, shingle: Shingle, now: float, prefix: Prefix = Prefix.IN) -> Timeline:
        """Return 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: as in `read`.
        """
        return decode.timeline(self._records([key_of(shingle, prefix)])[0], now)

    def add(self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN) -> None:
        """Count a message's shingles, and pairs by the day of `now`; in memory, until `flush`.

        Raises:
            ValueError: an amount is below zero or above 2^63-1.
        """
        self._last_now = now
        self._buffer.add(pieces, amounts, now, prefix)

    def flush(self, now: float) -> int:
        """Append what was added to the spool; returns how many keys, 0 when there was nothing or no room.

        A disk that is full is raised once; adds go on in memory, and it is tried again each second: `stuck` says
        until when, `dropped` what was turned away meanwhile.

        Raises:
            StoreFull: for the first time in a row there is no room.
            StoreError: the spool cannot be written, or a sync before this one failed.
        """
        self._last_now = now
        entries = self._buffer.entries
        if entries:
            if self._failed_at is not None and abs(now - self._failed_at) < RETRY_S:
                return 0
            if not self._append(now):
                return 0
        self._spool.sync_if_due(now)
        return entries

    def close(self) -> None:
        """Flush, sync, and let go of store and spool.

        Raises:
            StoreError: what was not flushed is lost, or what was may not be on the disk; the text says why.
        """
        try:
            if self._buffer.entries:
                self._failed_at = None
                self._append(self._last_now)
        finally:
            try:
                self._spool.close()
            finally:
                self._reader.close()

    def _append(self, now: float) -> bool:
        try:
            self._spool.append(batch.encode(self._buffer, self._sequence + 1, now))
        except StoreError:
            first = self._failed_at is None
            self._failed_at = now
            if first:
                raise
            return False
        self._failed_at = None
        self._sequence += 1
        self._dropped += self._buffer.dropped
        self._pending.append(_Pending(self._sequence, self._buffer))
        self._pending_entries += self._buffer.entries
        self._buffer = Buffer(self._limit)
        while self._pending_entries > PENDING_ENTRIES and len(self._pending) > 1:
            self._forget_oldest()
        return True

    def _records(self, keys: list[bytes]) -> list[bytes]:
        with self._reader.transaction() as txn:
            if txn is None:
                records = [b""] * len(keys)
            else:
                if self._pending:
                    self._forget_applied(txn)
                records = list(map(txn.get, keys, repeat(b"")))
            waiting = [one.buffer for one in self._pending]
            if self._buffer.entries:
                waiting.append(self._buffer)
            for buffer in waiting:
                buffer.read_into(keys, records)
            distinct = {key for buffer in waiting if buffer.pairs for key in keys if key in buffer.pairs}
            if distinct:
                gains = {key: _own_pairs(txn, waiting, key) for key in distinct}
                records = [one + gains.get(key, b"") for key, one in zip(keys, records, strict=True)]
        return records

    def _forget_applied(self, txn: lmdb.Transaction[bytes]) -> None:
        position = get_position(txn, self._spool.owner)
        if position is not None:
            while self._pending and self._pending[0].sequence <= position.sequence:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        self._pending_entries -= self._pending.popleft().buffer.entries


class StoredCounters:
    """Reads what the store has; for tools beside a running daemon. Close it, or use it as a context."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN
    ) -> list[list[list[int]]]:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted.

        Raises:
            StoreError: the store cannot answer.
        """
        return decode.totals(self._records([key_of(shingle, prefix) for shingle in shingles]), now)

    async def timeline(self, shingle: Shingle, now: float, prefix: Prefix = Prefix.IN) -> Timeline:
        """Return 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: the store cannot answer.
        """
        return decode.timeline(self._records([key_of(shingle, prefix)])[0], now)

    def close(self) -> None:
        """Let go of the store."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _records(self, keys: list[bytes]) -> list[bytes]:
        with self._reader.transaction() as txn:
            if txn is None:
                raise StoreError(f"no counter store in {self._reader.directory} any more")
            return list(map(txn.get, keys, repeat(b"")))


def open_reader(directory: str | os.PathLike[str]) -> StoredCounters:
    """Open a store for reading only; a running daemon is not disturbed.

    What workers have flushed and the writer has not applied, 0.2 s as a rule, is not in it.

    Raises:
        StoreError: there is no store, or it cannot be read; StoreVersion if it is newer than this program.
    """
    reader = Reader(Path(directory))
    with reader.transaction() as txn:
        if txn is None:
            raise StoreError(f"no counter store in {directory}: has the writer run?")
    return StoredCounters(reader)


def _own_pairs(txn: lmdb.Transaction[bytes] | None, waiting: list[Buffer], distinct: bytes) -> bytes:
    """Return the cells that U is about to gain from this worker's own pairs."""
    firsts: dict[tuple[bytes, int], int] = {}
    for buffer in waiting:
        for pair, bucket in buffer.pairs.get(distinct, {}).items():
            firsts.setdefault(pair, bucket)
    gains: Counter[int] = Counter()
    for looked_up, ((both, day), bucket) in enumerate(firsts.items()):
        if txn is not None and looked_up < PAIRS_LOOKED_UP and record.seen_in_day(txn.get(both, b""), day):
            continue
        gains[bucket] += 1
    zeros = (0,) * (METRICS - 1)
    return b"".join(record.cells((count, *zeros), bucket) for bucket, count in gains.items())
