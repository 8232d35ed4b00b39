"""Counters as a worker uses them: the store, and its own adds that the store does not have yet.

    add    sums in memory
    flush  appends the sums to this worker's spool; the buffer is kept as pending until the store
           has it
    read   in one read transaction: how far our spool is applied (pending buffers up to there are
           dropped), the records, the doorkeeper's sightings; to these come what is pending and the
           buffer

So a worker sees its own adds at once and exactly once, and those of others when they have flushed
and the writer has stepped. Own pairs count as the store would decide them now; where one U has more
than PAIRS_LOOKED_UP of them waiting, the others count as new, an upper bound. If the writer stays
away, adds go on into the spool; of what is pending the oldest is then dropped by reads, which count
too little until it is back.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

import lmdb

from oborona import state_files
from oborona.counters import decode, record
from oborona.counters.add_spooler import AddSpooler
from oborona.counters.buffer import ENTRIES
from oborona.counters.core import keys_of
from oborona.counters.doorkeeper_file import DoorkeeperReader
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import LmdbReader, get_position
from oborona.counters.pending_adds import (
    PendingAdds,
    UnstoredAdds,
    add_to,
    sights_of,
    since_forgotten,
    take_from,
    waiting_cells,
)
from oborona.counters.rows import NOTHING, Row, first_window, from_zero, with_packed
from oborona.counters.spool import FILE_BYTES
from oborona.counters.stored_rows import StoredRows, records_of
from oborona.counters.window import Timeline, bucket_of
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle

PAIRS_LOOKED_UP: Final = 64  # of one U in one read: 40 µs


class LmdbCounters(AddSpooler):
    """The contract of `policy.ports.Counters`, for one worker process.

    Make it after the fork, use it in one thread.

    Args:
        directory: the store's; need not exist yet, reads then give what this worker added.
        worker_name: names its spool; letters, digits, - and _.
        durability: what of the flushed survives a power failure.
        file_bytes: size at which a spool goes on in a new file.
        buffer_entries: keys kept in memory while nothing can be flushed.
        environment: the writer's, when it lives in this very process.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        worker_name: str,
        *,
        durability: Durability = "second",
        file_bytes: int = FILE_BYTES,
        buffer_entries: int = ENTRIES,
        environment: lmdb.Environment | None = None,
    ) -> None:
        where = Path(directory)
        self._reader = LmdbReader(where, environment)
        self._doorkeeper = DoorkeeperReader(where)
        self._pending = PendingAdds()
        super().__init__(
            where / state_files.COUNTERS_SPOOL,
            worker_name,
            self._pending,
            durability=durability,
            file_bytes=file_bytes,
            buffer_entries=buffer_entries,
        )
        self._rows = StoredRows(self._doorkeeper)

    @property
    def pending(self) -> int:
        """Flushes that the store had not applied when it was last read."""
        return len(self._pending)

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[list[list[int]]]:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted.

        Not to be changed.

        Raises:
            StoreError: the store cannot answer; StoreVersion if it is newer than this program.
        """
        return self._read(keys_of(shingles, prefix), now)

    async def read_add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> list[list[list[int]]]:
        """Count a message as `add` does; return what `read` of its shingles gave before.

        Raises:
            StoreError: the store cannot answer; it is counted nevertheless.
            ValueError: an amount is below zero or above 2^63-1; nothing is counted.
        """
        keys = keys_of(pieces.shingles, prefix)
        try:
            return self._read(keys, now)
        finally:
            self.add_keys(keys, pieces, amounts, now, prefix)

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        """Return, for each shingle, 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: as in `read`.
        """
        keys = keys_of(shingles, prefix)
        with self._reader.transaction() as txn:
            self._stored(txn, [], now)  # drops what is applied
            stored = (
                [b""] * len(keys) if txn is None else records_of(txn, keys, self._doorkeeper, now)
            )
            gains = [self._own_pairs(txn, key) for key in keys]
        hidden, waiting = self._hidden(), self._waiting(keys)
        return [
            decode.timeline(
                (b"" if key in hidden else octets)
                + waiting_cells(key, waiting)
                + b"".join(
                    record.cells((count, 0, 0, 0, 0, 0), at) for at, count in gained.items()
                ),
                now,
            )
            for key, octets, gained in zip(keys, stored, gains, strict=True)
        ]

    def close(self) -> None:
        """Flush, sync, and let go of store and spool.

        Raises:
            StoreError: what was not flushed is lost, or what was may not be on the disk; the text
                says why.
        """
        try:
            super().close()
        finally:
            self._reader.close()

    def _read(self, keys: list[bytes], now: float) -> list[list[list[int]]]:
        last = bucket_of(now)
        with self._reader.transaction() as txn:
            rows = self._stored(txn, keys, now)
            distinct = self._pending.places_with_pairs(keys, self.buffer)
            gains = {place: self._own_pairs(txn, keys[place]) for place in distinct}
        waiting = self._waiting(keys)
        add_to(rows, keys, waiting.counts, now)
        for place, counted in gains.items():
            for bucket, count in counted.items():
                first = first_window(bucket, last)
                if first is not None:
                    rows[place] = with_packed(rows[place], count, first)
        if self._rows.signed or any(waiting.taken):
            take_from(rows, keys, waiting.taken, now)
            rows = list(map(from_zero, rows))
        return rows

    def _stored(
        self, txn: lmdb.Transaction[bytes] | None, keys: list[bytes], now: float
    ) -> list[Row]:
        """Return what the store has of keys, and drop what is applied from what is pending."""
        if txn is None:
            return [NOTHING] * len(keys)
        if self._rows.is_new(txn, self._reader.environment, now) and self._pending:
            position = get_position(txn, self.owner)
            if position is not None:
                self._pending.applied(position.sequence)
        rows = self._rows.read(txn, keys, now)
        if self._pending.hidden or self.buffer.forgotten:
            hidden = self._hidden()
            rows = [NOTHING if key in hidden else row for key, row in zip(keys, rows, strict=True)]
        return rows

    def _waiting(self, keys: Sequence[bytes]) -> UnstoredAdds:
        """Return what the store does not have yet, of these keys at least."""
        pending, buffer = self._pending, self.buffer
        if pending.hidden or buffer.forgotten:
            return since_forgotten(keys, [*pending.all(), buffer])
        return UnstoredAdds((pending.counts, buffer.counts), (pending.taken, buffer.taken))

    def _hidden(self) -> AbstractSet[bytes]:
        """Return the keys of which what the store has does not count any more."""
        return self._pending.hidden.keys() | self.buffer.forgotten

    def _own_pairs(self, txn: lmdb.Transaction[bytes] | None, distinct: bytes) -> Counter[int]:
        """Return what U is about to gain from this worker's own pairs, by bucket."""
        gains: Counter[int] = Counter()
        for looked_up, sight in enumerate(
            sights_of(distinct, [*self._pending.with_pairs_of(distinct), self.buffer])
        ):
            if (
                txn is not None
                and looked_up < PAIRS_LOOKED_UP
                and not sight.forgotten
                and record.seen_in_day(txn.get(sight.both, b""), sight.day)
            ):
                continue
            gains[sight.bucket] += 1
        return gains
