"""Counters of a cluster as a worker uses them: the cluster, and its own adds that the cluster does
not have yet.

    add, flush   into this worker's spool, as for the store on one machine; one sender takes it from
                 there
    read         one round trip to each node: of each page the records, and the last step of our
                 outbox that touched it → to these come the flushes that were taken into later steps
                 or none, and the buffer

Page and step are read at once, so a worker sees its own adds at once and exactly once, whichever
shards have them. Records are remembered for `stale_s`: what others add to a busy key is seen that
much later, and asked for that much less often. Own pairs count as the cluster would decide them
now, as far as the pairs' records were read along; the others count as new.

When a node is away, `StorePartial` carries what is known: all that the others say, what is
remembered however old, and this worker's own adds.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import lmdb

from oborona import state_files
from oborona.counters import decode, record
from oborona.counters.add_spooler import AddSpooler
from oborona.counters.buffer import ENTRIES, cells_of, taken_cells_of
from oborona.counters.cluster.answer_cache import STALE_S, PageAnswerCache
from oborona.counters.cluster.client import ClusterClient
from oborona.counters.cluster.page_queries import PageCells, PageQueries
from oborona.counters.cluster.progress import SpoolProgress
from oborona.counters.cluster.unacked_adds import UnackedAdds
from oborona.counters.cluster.unconfirmed_flushes import UnconfirmedFlushes
from oborona.counters.cluster.wire import ClusterAccess
from oborona.counters.core import keys_of, window_totals
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.pending_adds import UnstoredAdds, add_to, take_from, waiting_cells
from oborona.counters.rows import NOTHING, first_window, from_zero, with_packed, without_packed
from oborona.counters.spool import FILE_BYTES
from oborona.counters.window import Timeline, bucket_of
from oborona.errors import StoreError, StorePartial
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle

DEADLINE_S: Final = 0.05
PAIRS_READ: Final = 64  # pairs of one read whose records are read along

Rows = list[list[list[int]]]


class ClusterCounters(AddSpooler):
    """The contract of `policy.ports.Counters`, for one worker process.

    Make it after the fork, use it in one event loop.

    Args:
        directory: of the spools and the outbox; need not exist yet.
        worker_name: names its spool; letters, digits, - and _.
        access: how to reach the cluster.
        deadline_s: for a read.
        stale_s: so long a record is remembered, seconds; 0: never used again while its node
            answers.
        durability: what of the flushed survives a power failure.
        file_bytes: size at which a spool goes on in a new file.
        buffer_entries: keys kept in memory while nothing can be flushed.
        environment: the outbox's, when its sender lives in this very process.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        worker_name: str,
        access: ClusterAccess,
        *,
        deadline_s: float = DEADLINE_S,
        stale_s: float = STALE_S,
        durability: Durability = "second",
        file_bytes: int = FILE_BYTES,
        buffer_entries: int = ENTRIES,
        environment: lmdb.Environment | None = None,
    ) -> None:
        where = Path(directory)
        self._waiting = UnconfirmedFlushes()
        super().__init__(
            where / state_files.COUNTERS_SPOOL,
            worker_name,
            self._waiting,
            durability=durability,
            file_bytes=file_bytes,
            buffer_entries=buffer_entries,
        )
        self._reader = LmdbReader(where / state_files.COUNTERS_OUTBOX, environment)
        self._nodes = ClusterClient(access, deadline_s)
        self._recent = PageAnswerCache(stale_s)
        progress = SpoolProgress(self._reader, self.owner, stale_s)
        self._asking = PageQueries(self._nodes, progress, self._recent)
        self._own = UnackedAdds(self, self._waiting)

    @property
    def pending(self) -> int:
        """Flushes that are kept because the cluster may not have them everywhere."""
        return len(self._waiting)

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Rows:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted.

        Not to be changed.

        Raises:
            StorePartial: part of the cluster does not answer in time; it carries what is known.
            StoreError: the outbox cannot be read.
        """
        return await self._read(keys_of(shingles, prefix), now)

    async def read_add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> Rows:
        """Count a message as `add` does; return what `read` of its shingles gave before.

        Raises:
            StoreError: as in `read`; it is counted nevertheless.
            ValueError: an amount is below zero or above 2^63-1; nothing is counted.
        """
        keys = keys_of(pieces.shingles, prefix)
        try:
            return await self._read(keys, now)
        finally:
            self.add_keys(keys, pieces, amounts, now, prefix)

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        """Return, for each shingle, 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: part of the cluster does not answer, or as in `read`.
        """
        keys = keys_of(shingles, prefix)
        stored = await self._stored(keys, bucket_of(now))
        if stored.missing:
            raise StoreError(f"the cluster does not answer: {self._nodes.trouble}")
        return [decode.timeline(self._cells(key, stored), now) for key in keys]

    def close(self) -> None:
        """Flush, sync, hang up, and let go of the spool and the outbox.

        In the event loop that read.

        Raises:
            StoreError: what was not flushed is lost, or what was may not be on the disk; the text
                says why.
        """
        self._nodes.close()
        try:
            super().close()
        finally:
            self._reader.close()

    async def _read(self, keys: list[bytes], now: float) -> Rows:
        last = bucket_of(now)
        stored = await self._stored(keys, last)
        records = [self._own.record(key, stored) for key in keys]
        rows, signed = window_totals(keys, records, None, last, NOTHING)
        for place, key in enumerate(keys):
            gains = itertools.chain(
                self._own.counts(key, stored), self._own.gains(key, stored).items()
            )
            for bucket, packed in gains:
                first = first_window(bucket, last)
                if first is not None:
                    rows[place] = with_packed(rows[place], packed, first)
        add_to(rows, keys, [self.buffer.counts], now)
        if signed or self._own.takes:
            rows = self._taken_from(rows, keys, stored, now)
        if stored.missing:
            raise StorePartial(
                (
                    f"{stored.missing} of {len(keys)} shingles are not answered for: "
                    f"{self._nodes.trouble}"
                ),
                rows,
            )
        return rows

    def _taken_from(self, rows: Rows, keys: list[bytes], stored: PageCells, now: float) -> Rows:
        """Return rows without what we take back and the cluster does not yet, and nothing below
        zero.
        """
        last = bucket_of(now)
        for place, key in enumerate(keys):
            for bucket, packed in self._own.take_backs(key, stored):
                first = first_window(bucket, last)
                if first is not None:
                    rows[place] = without_packed(rows[place], packed, first)
        take_from(rows, keys, [self.buffer.taken], now)
        return list(map(from_zero, rows))

    def _cells(self, key: bytes, stored: PageCells) -> bytes:
        """Return all that is counted under a key, as cells of a record."""
        own = [
            *(cells_of(packed, bucket) for bucket, packed in self._own.counts(key, stored)),
            *(
                taken_cells_of(packed, bucket)
                for bucket, packed in self._own.take_backs(key, stored)
            ),
            waiting_cells(key, UnstoredAdds([self.buffer.counts], [self.buffer.taken])),
            *(
                record.cells((count, 0, 0, 0, 0, 0), at)
                for at, count in self._own.gains(key, stored).items()
            ),
        ]
        return self._own.record(key, stored) + b"".join(own)

    async def _stored(self, keys: list[bytes], reference: int) -> PageCells:
        halves = dict(itertools.islice(self._own.halves(keys), PAIRS_READ))
        stored = await self._asking.ask(keys, halves, reference)
        self._waiting.drop(self._asking.done)
        return stored
