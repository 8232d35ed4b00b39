"""What the bench needs of a store, and the LMDB store as such a subject.

A subject is a few settings: each process of a run makes its own from them. Another store joins by
one more class here or elsewhere; `run` is told its name and knows nothing else of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import takewhile
from pathlib import Path
from typing import Final, Protocol

import msgspec

from oborona.counter_load.fill import fill
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import (
    FIRST_RECORD,
    MAP_BYTES,
    LmdbReader,
    as_store_error,
    positions,
)
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import DOORKEEPER_BYTES, LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle

PAGE_HEADER: Final = 16
BENCH: Final = "bench"  # workers' names begin with it


class BenchCounters(Protocol):
    """A store in one worker, as src/oborona/daemon/worker.py uses it."""

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = ...
    ) -> object: ...
    async def read_add(
        self, pieces: CountedPieces, amounts: Amounts, now: float, prefix: CounterPrefix = ...
    ) -> object: ...
    def add(
        self, pieces: CountedPieces, amounts: Amounts, now: float, prefix: CounterPrefix = ...
    ) -> None: ...
    def flush(self, now: float) -> int: ...
    def close(self) -> None: ...


class BenchStopEvent(Protocol):
    """What asks a writer to end."""

    def is_set(self) -> bool: ...
    def wait(self, timeout: float, /) -> object: ...


class BenchWriter(Protocol):
    """What applies the workers' flushes, in a process of its own."""

    def run(self, stop: BenchStopEvent) -> None: ...
    def close(self) -> None: ...


class StoreSize(msgspec.Struct, frozen=True, kw_only=True):
    """What a store takes.

    LMDB's is of records alone: shingles seen once that wait in the table are not among its keys,
    nor is the table, whose size is set, in its bytes. In a cluster they wait in the pages, so both
    are in.
    """

    keys: int
    bytes: int  # of pages in use, or of memory, by whichever the store is bounded


class StoreWatch(Protocol):
    """Looks at a store from outside while it is loaded."""

    def applied(self, number: int) -> int | None:
        """Return how many flushes of that worker the store has.

        None: a flush ends when the store has it.
        """
        ...

    def size(self) -> StoreSize: ...


class BenchSubject(Protocol):
    """A store to be measured.

    A msgspec struct, so that each process of a run makes the same one.
    """

    @property
    def name(self) -> str: ...

    @property
    def pids(self) -> tuple[int, ...]:
        """Servers whose CPU counts; they run already."""
        ...

    @property
    def at_once(self) -> int:
        """Messages that a worker has under way at the same time.

        More than one where a read waits for a network.
        """
        ...

    @property
    def has_writer(self) -> bool: ...

    def filled(
        self, keys: int, now: float, progress: Callable[[float], None]
    ) -> AbstractContextManager[StoreWatch]:
        """Bring keys with their history into the empty store; at the end remove what would stay."""
        ...

    def counters(self, number: int) -> BenchCounters:
        """Return what a worker's process counts with."""
        ...

    def writer(self) -> BenchWriter:
        """Return what the writer's process runs; asked only where there is one."""
        ...


class LmdbSubject(msgspec.Struct, frozen=True, kw_only=True):
    """The store on one machine, as `oborona serve` runs it.

    Args:
        directory: of the store; empty or not there yet.
        durability: as `LmdbCounterWriter` takes it.
        doorkeeper_bytes: as `LmdbCounterWriter` takes it.
        map_bytes: as `LmdbCounterWriter` takes it; so much the fill at least may need.
    """

    directory: str
    durability: Durability = "second"
    doorkeeper_bytes: int = DOORKEEPER_BYTES
    map_bytes: int = MAP_BYTES

    @property
    def name(self) -> str:
        return "lmdb"

    @property
    def pids(self) -> tuple[int, ...]:
        return ()

    @property
    def at_once(self) -> int:
        return 1

    @property
    def has_writer(self) -> bool:
        return True

    @contextlib.contextmanager
    def filled(
        self, keys: int, now: float, progress: Callable[[float], None]
    ) -> Iterator[LmdbWatch]:
        """Make the store and fill it; see `fill.py`.

        Raises:
            StoreError: no room, or the disk fails.
        """
        writer = LmdbCounterWriter(
            self.directory,
            map_bytes=self.map_bytes,
            durability="none",
            doorkeeper_bytes=self.doorkeeper_bytes,
        )
        try:
            with as_store_error(Path(self.directory)):
                fill(writer.environment, keys, now, progress)
                writer.environment.sync(True)
        finally:
            writer.close()
        reader = LmdbReader(Path(self.directory))
        try:
            yield LmdbWatch(reader)
        finally:
            reader.close()

    def counters(self, number: int) -> LmdbCounters:
        return LmdbCounters(self.directory, f"{BENCH}-{number}", durability=self.durability)

    def writer(self) -> LmdbCounterWriter:
        return LmdbCounterWriter(
            self.directory,
            program="oborona counters bench",
            map_bytes=self.map_bytes,
            durability=self.durability,
            doorkeeper_bytes=self.doorkeeper_bytes,
        )


class LmdbWatch:
    """Looks at an LMDB store in short read transactions."""

    def __init__(self, reader: LmdbReader) -> None:
        self._reader = reader

    def applied(self, number: int) -> int:
        with self._reader.transaction() as txn:
            found = {} if txn is None else positions(txn)
        return max(
            (p.sequence for owner, p in found.items() if owner.startswith(f"{BENCH}-{number}.")),
            default=0,
        )

    def size(self) -> StoreSize:
        """Return records and the pages that hold them.

        What the store notes for itself is not in it.
        """
        with self._reader.transaction() as txn:
            assert txn is not None, "it was filled before"
            stat = txn.stat()
            with txn.cursor() as cursor:
                notes = [
                    len(note) for _key, note in takewhile(lambda one: one[0] < FIRST_RECORD, cursor)
                ]
        page = stat["psize"]
        pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
        pages -= sum(
            -(-(PAGE_HEADER + note) // page) for note in notes if note > page // 2
        )  # on pages of their own
        return StoreSize(keys=stat["entries"] - len(notes), bytes=pages * page)
