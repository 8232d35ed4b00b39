"""The write path of a worker's adds: a buffer sums them, a flush appends them to the worker's
spool, and they wait until the store has applied them.

This worker's reads see the waiting adds; the store decides how, through `FlushQueue`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from oborona.counters import batch
from oborona.counters.buffer import ENTRIES, AddBuffer
from oborona.counters.core import keys_of
from oborona.counters.durability import SPOOL_SYNC_S, Durability
from oborona.counters.record import key_of
from oborona.counters.spool import FILE_BYTES, CounterSpool
from oborona.errors import StoreError
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle

RETRY_S: Final = 1.0  # between two tries to write to a full disk


class FlushQueue(Protocol):
    """Flushes that the store does not have yet."""

    def push(self, sequence: int, buffer: AddBuffer) -> None: ...


class AddSpooler:
    """The half of a store that is the same for each: what one worker process adds goes out by its
    spool; one thread.

    Args:
        directory: of the spools.
        worker_name: names its spool; letters, digits, - and _.
        waits: gets each flush.
        durability: what of the flushed survives a power failure.
        file_bytes: size at which a spool goes on in a new file.
        buffer_entries: keys kept in memory while nothing can be flushed.
    """

    def __init__(
        self,
        directory: Path,
        worker_name: str,
        waits: FlushQueue,
        *,
        durability: Durability = "second",
        file_bytes: int = FILE_BYTES,
        buffer_entries: int = ENTRIES,
    ) -> None:
        self._spool = CounterSpool(
            directory, worker_name, file_bytes=file_bytes, sync_s=SPOOL_SYNC_S[durability]
        )
        self._waits = waits
        self._limit = buffer_entries
        self.buffer = AddBuffer(buffer_entries)
        self._sequence = 0
        self._failed_at: float | None = None
        self._last_now = 0.0
        self._dropped = 0

    @property
    def owner(self) -> str:
        """Under which the store keeps how far this spool is applied."""
        return self._spool.owner

    @property
    def dropped(self) -> int:
        """Adds turned away since the start because the buffer was full and could not be flushed."""
        return self._dropped + self.buffer.dropped

    @property
    def stuck(self) -> bool:
        """Whether the last try to write to the spool failed: adds wait in memory."""
        return self._failed_at is not None

    def add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        """Count a message's shingles, and pairs by the day of `now`; in memory, until `flush`.

        Raises:
            ValueError: an amount is below zero or above 2^63-1.
        """
        self.add_keys(keys_of(pieces.shingles, prefix), pieces, amounts, now, prefix)

    def add_keys(
        self,
        keys: list[bytes],
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix,
    ) -> None:
        """Add as `add` does; these are the keys of the shingles."""
        self._last_now = now
        pairs: list[tuple[bytes, bytes]] = []
        if pieces.pairs:
            flat = keys_of([shingle for pair in pieces.pairs for shingle in pair], prefix)
            pairs = list(zip(flat[::2], flat[1::2], strict=True))
        self.buffer.add(keys, pairs, amounts, now)

    def take_back(
        self,
        shingles: Sequence[Shingle],
        amounts: Amounts,
        at: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        """Take back what was added to shingles at `at`; in memory, until `flush`.

        Raises:
            ValueError: an amount is below zero or above 2^49-1.
        """
        self._last_now = max(self._last_now, at)
        self.buffer.take_back(keys_of(shingles, prefix), amounts, at)

    def forget(
        self, shingle: Shingle, now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> None:
        """Forget what is counted under a shingle up to now.

        What other processes have not flushed yet may stay.

        Raises:
            StoreError: the spool cannot be written, and nothing is forgotten.
        """
        self._last_now = now
        # what is forgotten comes before what is added, in each flush
        if self.buffer.counts or self.buffer.taken:
            self._failed_at = None
            self._append(now)
        self.buffer.forget(key_of(shingle, prefix))

    def write(self, now: float) -> int:
        """Append what was added to the spool, which survives the death of this process.

        The disk is left to `flush`.

        Returns how many keys, 0 when there was nothing or no room. A disk that is full is raised
        once; adds go on in memory, and it is tried again each second: `stuck` says until when,
        `dropped` what was turned away meanwhile.

        Raises:
            StoreFull: for the first time in a row there is no room.
            StoreError: the spool cannot be written.
        """
        self._last_now = now
        entries = self.buffer.entries
        waits = self._failed_at is not None and abs(now - self._failed_at) < RETRY_S
        if entries and (waits or not self._append(now)):
            entries = 0
        return entries

    def flush(self, now: float) -> int:
        """Write, and have the disk take what was written, as durability says.

        Returns as `write` does.

        Raises:
            StoreFull: for the first time in a row there is no room.
            StoreError: the spool cannot be written, or a sync of it failed.
        """
        entries = self.write(now)
        self._spool.sync_if_due(now)
        return entries

    def close(self) -> None:
        """Flush, sync, and let go of the spool.

        Raises:
            StoreError: what was not flushed is lost, or what was may not be on the disk; the text
                says why.
        """
        try:
            if self.buffer.entries:
                self._failed_at = None
                self._append(self._last_now)
        finally:
            self._spool.close()

    def _append(self, now: float) -> bool:
        try:
            self._spool.append(batch.encode(self.buffer, self._sequence + 1, now))
        except StoreError:
            first = self._failed_at is None
            self._failed_at = now
            if first:
                raise
            return False
        self._failed_at = None
        self._sequence += 1
        self._dropped += self.buffer.dropped
        self._waits.push(self._sequence, self.buffer)
        self.buffer = AddBuffer(self._limit)
        return True
