"""Counters of a cluster as a worker uses them: the cluster, and its own adds that the cluster does not have yet.

    add, flush   into this worker's spool, as for the store on one machine; one sender takes it from there
    read         one round trip to each node: of each page the records, and the last step of our outbox that touched it
                 → to these come the flushes that were taken into later steps or none, and the buffer

Page and step are read at once, so a worker sees its own adds at once and exactly once, whichever shards have them. Records
are remembered for `stale_s`: what others add to a busy key is seen that much later, and asked for that much less often.
Own pairs count as the cluster would decide them now, as far as the pairs' records were read along; the others count as new.

When a node is away, `StorePartial` carries what is known: all that the others say, what is remembered however old, and this
worker's own adds.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import lmdb

from oborona.counters import decode, record
from oborona.counters.buffer import ENTRIES, cells_of
from oborona.counters.cluster.layout import (
    APPLIED,
    FIRST_HASH_BYTE,
    SLOT_OF_TAG,
    field_of,
    page_of,
)
from oborona.counters.cluster.nodes import Nodes, Question
from oborona.counters.cluster.progress import Progress
from oborona.counters.cluster.recent import STALE_S, Answer, Recent
from oborona.counters.cluster.sender import OUTBOX
from oborona.counters.cluster.waiting import Waiting
from oborona.counters.cluster.wire import Access, pack
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import SPOOLS, Reader
from oborona.counters.outgoing import Outgoing, keys_of
from oborona.counters.pending import add_to, owned, waiting_cells
from oborona.counters.record import key_of
from oborona.counters.remembered import Remembered
from oborona.counters.rows import add_packed, first_window
from oborona.counters.spool import FILE_BYTES
from oborona.counters.window import Timeline, bucket_of
from oborona.errors import StoreError, StorePartial
from oborona.types import Amounts, Pieces, Prefix, Shingle

DEADLINE_S: Final = 0.05
PAIRS_READ: Final = 64  # pairs of one read whose records are read along

Rows = list[list[list[int]]]


UNFLUSHED: Final = 1 << 62  # stands for the flush that is to come


class ClusterCounters:
    """The contract of `policy.ports.Counters`, for one worker process; make it after the fork, use it in one event loop.

    Args:
        directory: of the spools and the outbox; need not exist yet.
        worker_name: names its spool; letters, digits, - and _.
        access: how to reach the cluster.
        deadline_s: for a read.
        stale_s: so long a record is remembered, seconds; 0: never used again while its node answers.
        durability: what of the flushed survives a power failure.
        file_bytes: size at which a spool goes on in a new file.
        buffer_entries: keys kept in memory while nothing can be flushed.
        environment: the outbox's, when its sender lives in this very process.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        worker_name: str,
        access: Access,
        *,
        deadline_s: float = DEADLINE_S,
        stale_s: float = STALE_S,
        durability: Durability = "second",
        file_bytes: int = FILE_BYTES,
        buffer_entries: int = ENTRIES,
        environment: lmdb.Environment | None = None,
    ) -> None:
        where = Path(directory)
        self._waiting = Waiting()
        self._outgoing = Outgoing(
            where / SPOOLS,
            worker_name,
            self._waiting,
            durability=durability,
            file_bytes=file_bytes,
            buffer_entries=buffer_entries,
        )
        self._reader = Reader(where / OUTBOX, environment)
        self._progress = Progress(self._reader, self._outgoing.owner, stale_s)
        self._nodes = Nodes(access, deadline_s)
        self._recent = Recent(stale_s)
        self._remembered = Remembered()

    @property
    def pending(self) -> int:
        """Flushes that are kept because the cluster may not have them everywhere."""
        return len(self._waiting)

    @property
    def dropped(self) -> int:
        """Adds turned away since the start because the buffer was full and could not be flushed."""
        return self._outgoing.dropped

    @property
    def stuck(self) -> bool:
        """Whether the last try to write to the spool failed: adds wait in memory."""
        return self._outgoing.stuck

    async def read(self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN) -> Rows:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted; not to be changed.

        Raises:
            StorePartial: part of the cluster does not answer in time; it carries what is known.
            StoreError: the outbox cannot be read.
        """
        return await self._read(keys_of(shingles, prefix), now)

    async def read_add(
        self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN
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
            self._outgoing.add(keys, pieces, amounts, now, prefix)

    async def timeline(self, shingle: Shingle, now: float, prefix: Prefix = Prefix.IN) -> Timeline:
        """Return 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: part of the cluster does not answer, or as in `read`.
        """
        key = key_of(shingle, prefix)
        stored = await self._stored([key])
        if stored.missing:
            raise StoreError(f"the cluster does not answer: {self._nodes.trouble}")
        own = []
        if key not in self._outgoing.buffer.forgotten:
            own += [
                cells_of(packed, bucket) for bucket, packed in self._waiting.counts(key, stored.after(key))
            ]
        own.append(waiting_cells(key, [self._outgoing.buffer]))
        own += [
            record.cells((count, 0, 0, 0, 0, 0), at) for at, count in self._own_pairs(key, stored).items()
        ]
        return decode.timeline(self._record(key, stored) + b"".join(own), now)

    def add(self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN) -> None:
        """Count a message's shingles, and pairs by the day of `now`; in memory, until `flush`.

        Raises:
            ValueError: an amount is below zero or above 2^63-1.
        """
        self._outgoing.add(keys_of(pieces.shingles, prefix), pieces, amounts, now, prefix)

    def forget(self, shingle: Shingle, now: float, prefix: Prefix = Prefix.IN) -> None:
        """Forget what is counted under a shingle up to now; what other processes have not flushed yet may stay.

        Raises:
            StoreError: the spool cannot be written, and nothing is forgotten.
        """
        self._outgoing.forget(key_of(shingle, prefix), now)

    def flush(self, now: float) -> int:
        """Append what was added to the spool; returns how many keys, 0 when there was nothing or no room.

        A disk that is full is raised once; adds go on in memory, and it is tried again each second: `stuck` says
        until when, `dropped` what was turned away meanwhile.

        Raises:
            StoreFull: for the first time in a row there is no room.
            StoreError: the spool cannot be written, or a sync of it failed.
        """
        return self._outgoing.flush(now)

    def close(self) -> None:
        """Flush, sync, hang up, and let go of the spool and the outbox; in the event loop that read.

        Raises:
            StoreError: what was not flushed is lost, or what was may not be on the disk; the text says why.
        """
        self._nodes.close()
        try:
            self._outgoing.close()
        finally:
            self._reader.close()

    async def _read(self, keys: list[bytes], now: float) -> Rows:
        stored = await self._stored(keys)
        last = bucket_of(now)
        rows = self._remembered.totals(keys, [self._record(key, stored) for key in keys], now)
        buffer, waiting = self._outgoing.buffer, self._waiting
        for place, key in enumerate(keys):
            if key in waiting.counted and key not in buffer.forgotten:
                for bucket, packed in waiting.counts(key, stored.after(key)):
                    first = first_window(bucket, last)
                    if first is not None:
                        add_packed(owned(rows, place), packed, first)
            if key in waiting.paired or key in buffer.pairs:
                for bucket, count in self._own_pairs(key, stored).items():
                    first = first_window(bucket, last)
                    if first is not None:
                        add_packed(owned(rows, place), count, first)
        add_to(rows, keys, [buffer], now)
        if stored.missing:
            raise StorePartial(
                f"{stored.missing} of {len(keys)} shingles are not answered for: {self._nodes.trouble}", rows
            )
        return rows

    async def _stored(self, keys: Sequence[bytes]) -> _Stored:
        """Return what the cluster has of keys, and of the pairs of this worker's that wait to be decided."""
        if not self._progress.id:
            self._progress.look(time.monotonic())
        wanted = dict.fromkeys(keys)
        pairs = dict.fromkeys(islice(self._waiting_pairs(keys), PAIRS_READ))
        now = time.monotonic()
        stored = _Stored(self._progress)
        pages: dict[bytes, list[bytes]] = {}
        slots: list[int] = []
        # pairs first: a node answers in order, so a page of P that has a flush tells that a page of U has it, too
        for key in (*pairs, *wanted):
            answer = self._recent.get(key, now)
            if answer is not None:
                stored.answers[key] = answer
                continue
            page = page_of(key)
            if page not in pages:
                pages[page] = []
                slots.append(SLOT_OF_TAG[key[FIRST_HASH_BYTE]])
            pages[page].append(key)
        outbox = self._progress.id
        applied = APPLIED + outbox
        questions: list[Question] = [
            (slot, pack((b"HMGET", page, applied, *map(field_of, asked))))
            for slot, (page, asked) in zip(slots, pages.items(), strict=True)
        ]
        replies = await self._nodes.ask(questions) if questions else []
        done = self._progress.look(time.monotonic())
        self._waiting.drop(done)
        if self._progress.id != outbox:  # begun, or begun anew: what pages say of the other one is of no use
            self._recent.clear()
            return await self._stored(keys)
        for asked, reply in zip(pages.values(), replies, strict=True):
            if isinstance(reply, list):
                step = int(reply[0] or 0)
                for key, cells in zip(asked, reply[1:], strict=True):
                    stored.answers[key] = self._recent.put(key, Answer(now, cells or b"", step))
            else:
                stored.missing += sum(key in wanted for key in asked)
                stored.answers |= {key: old for key in asked if (old := self._recent.last(key))}
        return stored

    def _waiting_pairs(self, keys: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the P's of those of this worker's pairs that the cluster may not have decided yet."""
        pairs = self._outgoing.buffer.pairs
        if not (pairs or self._waiting.paired):
            return
        for key in keys:
            for _flush, (both, _day), _bucket in self._waiting.pairs(key, 0):
                yield both
            for both, _day in pairs.get(key, ()):
                yield both

    def _record(self, key: bytes, stored: _Stored) -> bytes:
        return b"" if self._forgotten_by(key) > stored.after(key) else stored.cells(key)

    def _own_pairs(self, distinct: bytes, stored: _Stored) -> Counter[int]:
        """Return what U is about to gain from this worker's own pairs, by bucket."""
        buffer = self._outgoing.buffer
        sights = [
            *self._waiting.pairs(distinct, stored.after(distinct)),
            *((UNFLUSHED, sight, bucket) for sight, bucket in buffer.pairs.get(distinct, {}).items()),
        ]
        begins = self._forgotten_by(distinct)
        gains: Counter[int] = Counter()
        known: dict[tuple[bytes, int], int] = {}
        for flush, sight, bucket in sights:
            both, day = sight
            forgotten = self._forgotten_by(both)
            if sight in known and not known[sight] < forgotten <= flush:
                continue
            known[sight] = flush
            since = stored.after(both) < forgotten <= flush  # what the cluster has of P is from before
            if flush >= begins and (since or not record.seen_in_day(stored.cells(both), day)):
                gains[bucket] += 1
        return gains

    def _forgotten_by(self, key: bytes) -> int:
        """Return the last flush that forgot a key, which comes before what that flush counts."""
        return UNFLUSHED if key in self._outgoing.buffer.forgotten else self._waiting.hidden.get(key, 0)


class _Stored:
    """What one round trip found."""

    __slots__ = ("_progress", "answers", "missing")

    def __init__(self, progress: Progress) -> None:
        self.answers: dict[bytes, Answer] = {}
        self.missing = 0  # keys that were asked for and not answered
        self._progress = progress

    def cells(self, key: bytes) -> bytes:
        answer = self.answers.get(key)
        return answer.cells if answer is not None else b""

    def after(self, key: bytes) -> int:
        """Return the last of our flushes that is in the answer."""
        answer = self.answers.get(key)
        return self._progress.covered(answer.step if answer is not None else 0)
