"""What is said of a store, and of what waits in its spools, held against what was put there."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from oborona import state_files
from oborona.counters.backlog import SpoolBacklog, lag_s, spool_backlog
from oborona.counters.lmdb_store import TAKES_NOTHING, begin, positions
from oborona.counters.spool import MODE
from oborona.counters.stats import look
from oborona.counters.store import LmdbCounters
from oborona.counters.store_walk import TypeShare
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreError
from oborona.lock import hold
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle

from .conftest import NOON


def add(
    worker: LmdbCounters,
    kind: int,
    number: int,
    now: float,
    prefix: CounterPrefix = CounterPrefix.IN,
) -> None:
    shingles = tuple(Shingle(kind, hash_) for hash_ in range(number))
    worker.add(CountedPieces(shingles=shingles, pairs=()), Amounts(seen=2), now, prefix)


def of(writer: LmdbCounterWriter) -> list[SpoolBacklog]:
    with begin(writer.environment) as txn:
        return spool_backlog(writer.directory, positions(txn))


def spool_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in (directory / state_files.COUNTERS_SPOOL).iterdir())


def test_what_is_flushed_waits_until_it_is_applied(writer: LmdbCounterWriter) -> None:
    assert of(writer) == []
    worker = LmdbCounters(writer.directory, "worker-0")
    for step in range(3):
        add(worker, 8, 10 + step, NOON + step)
        worker.flush(NOON + step)
    [found] = of(writer)
    assert found.worker == "worker-0"
    assert (found.files, found.bytes, found.oldest) == (1, spool_bytes(writer.directory), NOON)
    assert lag_s([found], NOON + 5) == 5
    writer.step(NOON)
    [found] = of(writer)
    assert (found.bytes, found.oldest) == (0, None)
    assert lag_s([found], NOON + 5) == 0
    before = spool_bytes(writer.directory)
    add(worker, 8, 1, NOON + 9)
    worker.flush(NOON + 9)
    [found] = of(writer)
    assert (found.bytes, found.oldest) == (spool_bytes(writer.directory) - before, NOON + 9)
    worker.close()


def test_all_files_of_a_spool_wait_and_the_oldest_worker_gives_the_lag(
    writer: LmdbCounterWriter,
) -> None:
    many = LmdbCounters(writer.directory, "many", file_bytes=100)
    late = LmdbCounters(writer.directory, "late")
    add(late, 8, 1, NOON - 60)
    late.flush(NOON - 60)
    for step in range(4):
        add(many, 8, 20, NOON + step)
        many.flush(NOON + step)
    found = {one.worker: one for one in of(writer)}
    assert found["many"].files == 4
    assert sum(one.bytes for one in found.values()) == spool_bytes(writer.directory)
    assert (found["many"].oldest, found["late"].oldest) == (NOON, NOON - 60)
    assert lag_s(list(found.values()), NOON) == 60
    writer.step(NOON)
    assert sum(one.bytes for one in of(writer)) == 0
    many.close()
    late.close()


@pytest.mark.parametrize("damage", [b"", b"XXXX", struct.pack("<4sH", b"OBSP", 1)])
def test_a_damaged_spool_waits_since_nobody_knows_when(
    writer: LmdbCounterWriter, damage: bytes
) -> None:
    spools = writer.directory / state_files.COUNTERS_SPOOL
    spools.mkdir()
    path = spools / f"worker-0.{'0' * 20}.00000001.spool"
    path.touch(MODE)
    path.write_bytes(damage)
    [found] = of(writer)
    assert (found.files, found.bytes, found.oldest) == (1, len(damage), None)
    assert lag_s([found], NOON) == 0


def test_a_spool_that_cannot_be_read_is_an_error(writer: LmdbCounterWriter) -> None:
    spools = writer.directory / state_files.COUNTERS_SPOOL
    spools.mkdir()
    (spools / f"worker-0.{'0' * 20}.00000001.spool").mkdir()
    with pytest.raises(StoreError, match="cannot read the spools"):
        of(writer)


def test_the_numbers_of_a_store_are_those_that_were_put_there(tmp_path: Path) -> None:
    writer = LmdbCounterWriter(tmp_path)
    worker = LmdbCounters(tmp_path, "worker-0", environment=writer.environment)
    add(worker, 8, 300, NOON)
    add(worker, 14, 20, NOON)
    add(worker, 14, 5, NOON, CounterPrefix.OUT)
    worker.flush(NOON)
    writer.step(NOON)
    worker.close()
    writer.close()
    with hold(tmp_path / state_files.COUNTERS_LOCK, "a writer"):
        found = look(tmp_path, NOON + 1, types=True)
    assert (found.directory, found.version, found.records) == (str(tmp_path), TAKES_NOTHING, 325)
    assert found.file_bytes == (tmp_path / state_files.COUNTERS_DATA).stat().st_size
    assert (
        found.used_bytes
        == (found.pages.leaf + found.pages.branch + found.pages.overflow) * found.pages.bytes
    )
    assert found.used_bytes + found.free_bytes == (found.pages.last + 1) * found.pages.bytes
    assert found.map_bytes >= found.file_bytes
    assert found.newest == NOON
    assert found.doorkeeper_slots == 1 << 22
    assert found.writer is not None
    assert found.writer.startswith("a writer (pid ")
    assert (found.waiting_bytes, found.lag_s) == (0, 0)
    assert found.types == [
        TypeShare(prefix=CounterPrefix.IN, type=8, records=300, bytes=300 * 18, largest=18),
        TypeShare(prefix=CounterPrefix.IN, type=14, records=20, bytes=20 * 18, largest=18),
        TypeShare(prefix=CounterPrefix.OUT, type=14, records=5, bytes=5 * 18, largest=18),
    ]
    plain = look(tmp_path, NOON)
    assert (plain.writer, plain.types) == (None, None)


def test_shares_are_those_of_all_chunks_of_the_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oborona.counters.store_walk.CHUNK", 7)
    writer = LmdbCounterWriter(tmp_path)
    worker = LmdbCounters(tmp_path, "worker-0", environment=writer.environment)
    for kind in (8, 9, 15):
        add(worker, kind, 21, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    report = writer.verify()
    worker.close()
    writer.close()
    assert (report.records, report.cells, report.problems) == (63, 63, [])
    found = look(tmp_path, NOON, types=True)
    assert [(one.type, one.records) for one in found.types or ()] == [(8, 21), (9, 21), (15, 21)]


def test_without_a_doorkeeper_there_is_none(tmp_path: Path) -> None:
    LmdbCounterWriter(tmp_path, doorkeeper_bytes=0).close()
    found = look(tmp_path, NOON)
    assert (found.doorkeeper_slots, found.records, found.newest) == (0, 0, None)


def test_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no counter store"):
        look(tmp_path, NOON)
