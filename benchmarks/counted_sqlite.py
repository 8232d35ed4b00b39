"""Counting as one makes it of SQLite in an afternoon, under the load of `oborona counters bench`.

A row for each shingle and bucket or day; WAL, synchronous = NORMAL. A worker sums its adds in
memory for 0.1 s and upserts them in one transaction of its own; a read is one SELECT of 40 keys,
with what the worker has not written yet.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NoReturn

import msgspec

from benchmarks.counted import AtOnce, Seen, Slot, sights, slots_of, windows
from oborona.counter_load.fill import ROUNDS, rounds
from oborona.counter_load.subject import StoreSize
from oborona.counters.record import key_of
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle

BUSY_S: Final = 60.0  # for another worker's transaction: bounds a hang
UPSERT: Final = (
    "INSERT INTO counts (key, slot, seen) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seen = "
    "seen + excluded.seen"
)
SELECT: Final = "SELECT key, slot, seen FROM counts WHERE key IN ({})"


class SqliteSubject(msgspec.Struct, frozen=True, kw_only=True):
    """A database file.

    Args:
        path: where it is made.
    """

    path: str

    @property
    def name(self) -> str:
        return "SQLite, upserts"

    @property
    def pids(self) -> tuple[int, ...]:
        return ()

    @property
    def at_once(self) -> int:
        return 1

    @property
    def has_writer(self) -> bool:
        return False

    @contextlib.contextmanager
    def filled(self, keys: int, now: float, progress: Callable[[float], None]) -> Iterator[AtOnce]:
        """Make the table and insert the history."""
        with contextlib.closing(self._open()) as database:
            database.execute(
                "CREATE TABLE counts (key BLOB, slot INTEGER, seen INTEGER, PRIMARY KEY "
                "(key, slot)) WITHOUT ROWID"
            )
            for done, sample in enumerate(rounds(keys), 1):
                with database:
                    database.executemany("INSERT INTO counts VALUES (?, ?, ?)", sights(sample, now))
                progress(done / ROUNDS)
            yield AtOnce(lambda: _sqlite_size(database))

    def counters(self, number: int) -> SqliteCounters:
        return SqliteCounters(self._open())

    def writer(self) -> NoReturn:
        raise NotImplementedError("SQLite has no writer of ours")

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=BUSY_S)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(
            "PRAGMA mmap_size = 8589934592"
        )  # as LMDB reads: through the page cache, without a copy
        return database


class SqliteCounters:
    """One worker on SQLite."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._summed: Counter[tuple[bytes, Slot]] = Counter()

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Seen:
        keys = [key_of(shingle, prefix) for shingle in shingles]
        found: dict[bytes, dict[Slot, int]] = {key: {} for key in keys}
        query = SELECT.format(",".join("?" * len(keys)))  # as many marks as keys, and nothing else
        for key, slot, seen in self._database.execute(query, keys):
            found[key][slot] = seen
        for key, seen_by_slot in found.items():
            for slot in slots_of(now):
                if own := self._summed.get((key, slot)):
                    seen_by_slot[slot] = seen_by_slot.get(slot, 0) + own
        return [windows(found[key], now) for key in keys]

    async def read_add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> Seen:
        seen = await self.read(pieces.shingles, now, prefix)
        self.add(pieces, amounts, now, prefix)
        return seen

    def add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        slots = slots_of(now)
        for shingle in pieces.shingles:
            key = key_of(shingle, prefix)
            for slot in slots:
                self._summed[key, slot] += amounts.seen

    def flush(self, now: float) -> int:
        summed, self._summed = self._summed, Counter()
        with self._database:
            self._database.executemany(
                UPSERT, [(*place, seen) for place, seen in sorted(summed.items())]
            )
        return len(summed)

    def close(self) -> None:
        self._database.close()


def _sqlite_size(database: sqlite3.Connection) -> StoreSize:
    def number(query: str) -> int:
        return int(database.execute(query).fetchone()[0])

    pages = number("PRAGMA page_count") - number("PRAGMA freelist_count")
    return StoreSize(
        keys=number("SELECT count(*) FROM (SELECT DISTINCT key FROM counts)"),
        bytes=pages * number("PRAGMA page_size"),
    )
