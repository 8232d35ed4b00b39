"""The doorkeeper's file through the life of a store: restarts, crashes, other sizes, damage, forks
of readers.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from oborona import state_files
from oborona.counters import doorkeeper_file, record
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import DOORKEEPER_CHANGES_KEY, DOORKEEPER_KEY, FIRST_RECORD
from oborona.counters.readonly import open_reader
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, UniquePair, Window

from .conftest import NOON

SIZE = 1 << 16
ONCE = Shingle(8, 1)
TWICE = Shingle(8, 2)


def message(*shingles: Shingle) -> CountedPieces:
    return CountedPieces(shingles=shingles, pairs=())


class Store:
    """A store with a doorkeeper, opened and killed as a test wants."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.reports: list[str] = []
        self.writer = self.open()

    def open(self, size: int = SIZE, durability: Durability = "second") -> LmdbCounterWriter:
        self.writer = LmdbCounterWriter(
            self.directory, doorkeeper_bytes=size, durability=durability, report=self.reports.append
        )
        return self.writer

    def count(self, *shingles: Shingle, now: float = NOON) -> None:
        worker = LmdbCounters(self.directory, "worker", environment=self.writer.environment)
        worker.add(message(*shingles), Amounts(seen=1), now)
        worker.flush(now)
        worker.close()
        while self.writer.step(now):
            pass

    def kill(self) -> None:
        """Let go as the kernel would."""
        self.writer._follower.close()
        self.writer._store.close()
        self.writer._lock.release()

    def seen(self, *shingles: Shingle, now: float = NOON) -> list[int]:
        worker = LmdbCounters(self.directory, "reader", environment=self.writer.environment)
        totals = asyncio.run(worker.read(shingles, now))
        worker.close()
        return [one[Window.FORTNIGHT][Metric.SEEN] for one in totals]

    def records(self) -> int:
        return self.writer.verify().records

    def notes(self) -> int:
        with self.writer.environment.begin() as txn, txn.cursor() as cursor:
            cursor.set_range(DOORKEEPER_CHANGES_KEY)
            return sum(
                key.startswith(DOORKEEPER_CHANGES_KEY) for key in cursor.iternext(values=False)
            )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "counters")
    yield made
    made.writer.close()


def test_what_is_seen_once_has_no_record_and_counts(store: Store) -> None:
    store.count(ONCE, TWICE)
    assert (store.records(), store.seen(ONCE, TWICE)) == (0, [1, 1])
    store.count(TWICE, now=NOON + 3600)
    assert (store.records(), store.seen(ONCE, TWICE, now=NOON + 3600)) == (1, [1, 2])
    with store.writer.environment.begin() as txn, txn.cursor() as cursor:
        assert cursor.set_range(FIRST_RECORD)
        assert len(cursor.value()) == 16  # both sightings, each with its time


def test_tools_see_it_too(store: Store) -> None:
    store.count(ONCE)
    store.writer.close()
    with open_reader(store.directory) as stored:
        [totals] = asyncio.run(stored.read([ONCE], NOON))
        [timeline] = asyncio.run(stored.timelines([ONCE], NOON))
    assert totals[Window.RECENT][Metric.SEEN] == timeline.buckets[-1][Metric.SEEN] == 1
    store.open()


def test_other_amounts_get_records_at_once(store: Store) -> None:
    worker = LmdbCounters(store.directory, "w", environment=store.writer.environment)
    worker.add(message(Shingle(8, 3)), Amounts(seen=1, spam=1), NOON)
    worker.add(message(Shingle(8, 4)), Amounts(complaints=1), NOON)
    worker.add(message(Shingle(8, 5)), Amounts(seen=2), NOON)
    worker.flush(NOON)
    worker.close()
    store.writer.step(NOON)
    assert store.records() == 3


@pytest.mark.parametrize("table_is", ["as it was", "never written", "half written"])
def test_a_crash_leaves_what_the_store_says(store: Store, table_is: str) -> None:
    before = Path(f"{store.directory}.before")
    shutil.copy(store.directory / state_files.DOORKEEPER, before)
    store.count(*(Shingle(8, number) for number in range(500)))
    store.count(*(Shingle(8, number) for number in range(200, 300)))
    assert store.notes() == 2
    store.kill()
    table = store.directory / state_files.DOORKEEPER
    if table_is == "never written":
        shutil.copy(before, table)
    elif table_is == "half written":
        table.write_bytes(table.read_bytes()[: SIZE // 2] + before.read_bytes()[SIZE // 2 :])
    store.open()
    assert (
        store.seen(*(Shingle(8, number) for number in range(500)))
        == [1] * 200 + [2] * 100 + [1] * 200
    )
    assert (store.records(), store.reports) == (100, [])


def test_notes_go_once_the_disk_has_the_table(store: Store) -> None:
    store.count(ONCE)
    keeper = store.writer._doorkeeper
    assert keeper is not None
    keeper.sync_if_due(1000.0)
    assert keeper._syncing is not None
    keeper._syncing.result(10)
    keeper.sync_if_due(1000.0)
    store.count(TWICE)
    assert store.notes() == 1
    store.kill()
    store.open()
    assert store.seen(ONCE, TWICE) == [1, 1]
    store.count(ONCE, TWICE)
    assert store.seen(ONCE, TWICE) == [2, 2]


def test_a_sync_that_fails_is_told_and_notes_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    store.count(ONCE)
    keeper = store.writer._doorkeeper
    assert keeper is not None
    monkeypatch.setattr("oborona.counters.doorkeeper_file.os.fdatasync", no)
    keeper.sync_if_due(1000.0)
    assert keeper._syncing is not None
    keeper._syncing.exception(10)
    keeper.sync_if_due(1000.0)
    assert "cannot sync" in store.reports[0]
    monkeypatch.undo()
    store.count(TWICE)
    assert store.notes() == 2


@pytest.mark.parametrize("durability", ["second", "commit", "none"])
def test_notes_do_not_heap_up(store: Store, durability: Durability) -> None:
    store.writer.close()
    store.open(durability=durability)
    keeper = store.writer._doorkeeper
    assert keeper is not None
    for step in range(6):
        store.count(Shingle(8, step))
        store.writer.chores(NOON, 1000.0 * step)
        if keeper._syncing is not None:
            keeper._syncing.result(10)
    assert store.notes() <= 2


def test_a_p_never_takes_anothers_sighting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.count(ONCE)
    monkeypatch.setattr("oborona.counters.doorkeeper.PRINT", np.uint32(0))  # all look alike
    store.writer.close()
    store.open(32)  # one set
    store.count(ONCE)
    worker = LmdbCounters(store.directory, "w", environment=store.writer.environment)
    pair = UniquePair(both=Shingle(30, 5), distinct=Shingle(31, 6))
    worker.add(CountedPieces(shingles=(), pairs=(pair,)), Amounts(), NOON)
    worker.flush(NOON)
    worker.close()
    store.writer.step(NOON)
    with store.writer.environment.begin() as txn:
        assert record.counts_of(
            *record.unpack(txn.get(record.key_of(pair.both, CounterPrefix.IN), b""))
        ) == [
            1,
            0,
            0,
            0,
            0,
            0,
        ]


def test_damaged_records_make_room_for_what_is_counted(store: Store) -> None:
    with store.writer.environment.begin(write=True) as txn:
        txn.put(record.key_of(ONCE, CounterPrefix.IN), b"odd")
    assert store.seen(ONCE) == [0]
    assert not store.writer.verify().clean
    store.count(ONCE)
    store.count(ONCE)
    assert store.seen(ONCE) == [2]
    assert store.writer.verify().clean


@pytest.mark.parametrize("damage", ["gone", "cut", "other", "magic"])
def test_a_table_that_is_not_the_stores_is_begun_anew(store: Store, damage: str) -> None:
    store.count(ONCE, TWICE)
    store.count(TWICE)
    store.writer.close()
    table = store.directory / state_files.DOORKEEPER
    if damage == "gone":
        table.unlink()
    elif damage == "cut":
        os.truncate(table, SIZE)
    elif damage == "other":
        doorkeeper_file._make(table, SIZE // doorkeeper_file.SET_BYTES)
    else:
        with table.open("r+b") as file:
            file.write(b"none")
    store.open()
    assert (store.seen(ONCE, TWICE), len(store.reports)) == ([0, 2], 1)
    assert "begun anew" in store.reports[0]
    store.count(ONCE)
    assert store.seen(ONCE) == [1]


def test_another_size_begins_anew_and_off_drops_it(store: Store) -> None:
    store.count(ONCE, TWICE)
    store.writer.close()
    store.open(2 * SIZE + 5)
    assert (store.directory / state_files.DOORKEEPER).stat().st_size == 4096 + 2 * SIZE
    assert store.seen(ONCE) == [0]
    store.count(ONCE)
    store.writer.close()
    store.open(0)
    assert not (store.directory / state_files.DOORKEEPER).exists()
    assert (store.seen(ONCE), store.notes(), len(store.reports)) == ([0], 0, 2)
    store.count(ONCE)
    assert store.records() == 1


def test_a_reader_notices_a_new_table(store: Store) -> None:
    store.count(ONCE)
    reader = LmdbCounters(store.directory, "long", environment=store.writer.environment)
    assert asyncio.run(reader.read([ONCE], NOON))[0][Window.DAY][Metric.SEEN] == 1
    store.writer.close()
    store.open(2 * SIZE)
    reader._reader._environment = store.writer.environment
    store.count(TWICE)
    totals = asyncio.run(reader.read([ONCE, TWICE], NOON))
    assert [one[Window.DAY][Metric.SEEN] for one in totals] == [0, 1]
    reader.close()


def test_no_room_for_a_table_is_told_and_all_get_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, offset: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("oborona.counters.doorkeeper_file.os.posix_fallocate", full)
    store = Store(tmp_path)
    assert "all get records: [Errno 28]" in store.reports[0]
    store.count(ONCE)
    assert (store.records(), store.seen(ONCE)) == (1, [1])
    monkeypatch.undo()
    store.writer.close()
    store.open()
    store.count(TWICE)
    assert (store.records(), store.seen(ONCE, TWICE)) == (1, [1, 1])
    store.writer.close()


def test_verify_knows_its_notes(store: Store) -> None:
    store.count(ONCE)
    assert store.writer.verify().clean
    with store.writer.environment.begin(write=True) as txn:
        txn.put(DOORKEEPER_CHANGES_KEY + bytes(8), b"odd")
        txn.put(DOORKEEPER_KEY, b"short")
    assert len(store.writer.verify().problems) == 2
    store.writer.close()
    store.open()
    assert "begun anew" in store.reports[0]
