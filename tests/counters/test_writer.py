"""The writer beside its readers: versions, locks, growth, purge, clocks, forks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import pytest

from oborona import state_files
from oborona.counters import lmdb_store, record
from oborona.counters.lmdb_store import U32, VERSION_KEY, set_aside
from oborona.counters.readonly import open_reader
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreBusy, StoreError, StoreVersion
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, UniquePair, Window

from .conftest import NOON

DAY = 86_400
ONE = Amounts(seen=1)


def text(number: int) -> Shingle:
    return Shingle(1, number)


def message(*numbers: int) -> CountedPieces:
    return CountedPieces(shingles=tuple(text(number) for number in numbers), pairs=())


@pytest.fixture
def worker(writer: LmdbCounterWriter) -> Iterator[LmdbCounters]:
    made = LmdbCounters(writer.directory, "worker-0", environment=writer.environment)
    yield made
    made.close()


async def seen(counters: LmdbCounters, number: int, now: float = NOON) -> list[int]:
    [totals] = await counters.read([text(number)], now)
    return [totals[window][Metric.SEEN] for window in Window]


def test_step_says_how_many_flushes_it_applied(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    assert writer.step(NOON) == 0
    for _ in range(3):
        worker.add(message(1, 2), ONE, NOON)
        assert worker.flush(NOON) == 2
    assert worker.flush(NOON) == 0
    assert writer.step(NOON) == 3
    assert writer.step(NOON) == 0


async def test_pending_flushes_are_forgotten_once_applied(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    for _ in range(3):
        worker.add(message(1), ONE, NOON)
        worker.flush(NOON)
    assert await seen(worker, 1) == [3] * 4
    assert worker.pending == 3
    writer.step(NOON)
    assert await seen(worker, 1) == [3] * 4
    assert worker.pending == 0


async def test_with_no_writer_reads_forget_the_oldest_and_the_spool_keeps_all(
    writer: LmdbCounterWriter, worker: LmdbCounters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oborona.counters.pending_adds.PENDING_ENTRIES", 4)
    for _ in range(6):
        worker.add(message(1, 2), ONE, NOON)
        worker.flush(NOON)
    assert await seen(worker, 1) == [2] * 4
    writer.step(NOON)
    assert await seen(worker, 1) == [6] * 4


def test_a_newer_store_is_refused_by_everyone(writer: LmdbCounterWriter) -> None:
    with writer.environment.begin(write=True) as txn:
        txn.put(VERSION_KEY, U32.pack(lmdb_store.VERSION + 1))
    writer.close()
    versions = rf"has version {lmdb_store.VERSION + 1}, this Oborona knows {lmdb_store.VERSION}"
    with pytest.raises(StoreVersion, match=versions):
        LmdbCounterWriter(writer.directory)
    with pytest.raises(StoreVersion):
        open_reader(writer.directory)
    with pytest.raises(StoreVersion):  # the lock was let go again
        LmdbCounterWriter(writer.directory)


def test_another_programs_environment_is_left_alone(tmp_path: Path) -> None:
    environment = lmdb.open(os.fspath(tmp_path))
    with environment.begin(write=True) as txn:
        txn.put(b"theirs", b"data")
    environment.close()
    with pytest.raises(StoreError, match="another program"):
        LmdbCounterWriter(tmp_path)
    with pytest.raises(StoreError, match="no counter store"):
        open_reader(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a database, or not any more" * 400])
def test_a_broken_data_file_is_an_error_of_ours(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.mdb").write_bytes(content)
    with pytest.raises(StoreError):
        open_reader(tmp_path)


HARM = {
    "no LMDB file": lambda _: b"not a database" * 4000,
    "pages overwritten": lambda whole: whole[:8192] + b"\xff" * (len(whole) - 8192),
    "cut in the head": lambda whole: whole[:100],
    "cut behind the head": lambda whole: whole[:8192],  # the map then reaches past the file: SIGBUS
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
async def test_a_damaged_data_file_is_set_aside_and_a_new_one_begun(
    writer: LmdbCounterWriter,
    worker: LmdbCounters,
    caplog: pytest.LogCaptureFixture,
    harm: Callable[[bytes], bytes],
) -> None:
    worker.add(message(*range(100)), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    worker.close()
    writer.close()
    data = writer.directory / state_files.COUNTERS_DATA
    damaged = harm(data.read_bytes())
    data.write_bytes(damaged)
    again = LmdbCounterWriter(writer.directory)
    [aside] = writer.directory.glob("data.mdb.damaged-*")
    assert aside.read_bytes().rstrip(b"\0") == damaged.rstrip(b"\0")
    assert len(list(writer.directory.glob("lock.mdb.damaged-*"))) == 1
    [said] = [one for one in caplog.records if str(aside) in one.getMessage()]
    assert said.levelname == "ERROR"
    goes_on = LmdbCounters(again.directory, "worker-1", environment=again.environment)
    goes_on.add(message(1000), ONE, NOON)
    goes_on.flush(NOON)
    again.step(NOON)
    assert await seen(goes_on, 1000) == [1] * 4
    goes_on.close()
    again.close()


async def test_a_data_file_that_is_taken_away_costs_no_descriptor(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    def opened() -> int:
        links = Path("/proc/self/fd").iterdir()
        return sum(one.is_symlink() and str(one.readlink()).endswith(".spool") for one in links)

    held = []
    for number in range(3):
        worker.add(message(number), ONE, NOON)
        worker.flush(NOON)
        writer.step(NOON)
        held.append(opened())
        (writer.directory / state_files.COUNTERS_DATA).unlink()
    writer.step(NOON)
    assert held == [held[0]] * 3


async def test_a_reader_notices_that_the_store_was_set_aside(
    writer: LmdbCounterWriter, worker: LmdbCounters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmdb_store, "LOOK_S", 0.0)
    worker.add(message(1), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    worker.close()
    writer.close()
    with open_reader(writer.directory) as reader:
        [[recent, *_]] = await reader.read([text(1)], NOON)
        assert recent[Metric.SEEN] == 1
        set_aside(writer.directory, NOON)
        script = (
            f"from oborona.counters.writer import LmdbCounterWriter; "
            f"LmdbCounterWriter({str(writer.directory)!r}).close()"
        )
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
        [[recent, *_]] = await reader.read([text(1)], NOON)
        assert recent[Metric.SEEN] == 0


def test_a_newer_or_foreign_store_is_never_set_aside(
    writer: LmdbCounterWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writer.environment.begin(write=True) as txn:
        txn.put(VERSION_KEY, U32.pack(lmdb_store.VERSION + 1))
    writer.close()
    with pytest.raises(StoreVersion, match="written by a newer Oborona"):
        LmdbCounterWriter(writer.directory)

    def other_lmdb(*_: object, **__: object) -> None:
        raise lmdb.VersionMismatchError("MDB_VERSION_MISMATCH")

    monkeypatch.setattr(lmdb, "open", other_lmdb)
    with pytest.raises(StoreError, match="MDB_VERSION_MISMATCH"):
        LmdbCounterWriter(writer.directory)
    assert not list(writer.directory.glob("*.damaged-*"))


def test_a_second_writer_is_told_who_the_first_is(writer: LmdbCounterWriter) -> None:
    script = f"""
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreBusy
try:
    LmdbCounterWriter({str(writer.directory)!r}, program="the second")
except StoreBusy as error:
    print(error)
"""
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert f"oborona writer (pid {os.getpid()}" in told.stdout


def test_a_second_writer_in_one_process_too(writer: LmdbCounterWriter) -> None:
    with pytest.raises(StoreBusy):
        LmdbCounterWriter(writer.directory)


async def test_a_reader_before_the_first_writer_reads_its_own(tmp_path: Path) -> None:
    worker = LmdbCounters(tmp_path / "not yet", "worker-0")
    worker.add(message(1), ONE, NOON)
    assert await seen(worker, 1) == [1] * 4
    worker.flush(NOON)
    assert await seen(worker, 1) == [1] * 4
    with pytest.raises(StoreError, match="has the writer run"):
        open_reader(tmp_path / "not yet")
    writer = LmdbCounterWriter(tmp_path / "not yet")
    writer.step(NOON)
    writer.close()
    assert await seen(worker, 1) == [1] * 4
    assert worker.pending == 0
    worker.close()
    with open_reader(tmp_path / "not yet") as stored:
        assert (await stored.read([text(1), text(2)], NOON))[0] == [[1, 0, 0, 0, 0, 0]] * 4
        assert (await stored.timelines([text(1)], NOON))[0].days[-1][Metric.SEEN] == 1


async def test_the_map_grows_and_every_process_notices(tmp_path: Path, reports: list[str]) -> None:
    script = f"""
import asyncio, sys
from oborona.counters.readonly import open_reader
from oborona.types import Shingle
stored = open_reader({str(tmp_path)!r})
for _ in sys.stdin:
    [one] = asyncio.run(stored.read([Shingle(1, 0)], {NOON}))
    print(one[0][0], flush=True)
"""
    writer = LmdbCounterWriter(
        tmp_path, map_bytes=1 << 16, doorkeeper_bytes=0, report=reports.append
    )
    worker = LmdbCounters(tmp_path, "worker-0", environment=writer.environment)
    reader = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin
    assert reader.stdout
    try:
        for start in range(10):
            worker.add(message(0, *range(start * 2000 + 1, start * 2000 + 2000)), ONE, NOON)
            worker.flush(NOON)
            writer.step(NOON)
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == f"{start + 1}\n"
            assert await seen(worker, 0) == [start + 1] * 4
    finally:
        reader.communicate(timeout=30)
        worker.close()
    assert writer.verify().records == 10 * 1999 + 1
    assert len(reports) >= 3
    assert all("may now grow" in line for line in reports)
    writer.close()


def test_a_store_opened_before_a_fork_says_so_in_the_child(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    child = os.fork()
    if not child:
        try:
            asyncio.run(worker.read([text(1)], NOON))
        except StoreError as error:
            os._exit(7 if "before a fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_purge_walks_in_small_steps_and_goes_on_after_a_restart(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    worker.add(message(*range(100)), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    assert writer.purge(NOON, 1000).changes == []
    for day in range(1, 20):
        if day == 10:
            worker.add(message(*range(100, 200)), ONE, NOON + day * DAY)
            worker.flush(NOON)
            writer.step(NOON + day * DAY)
        writer.purge(NOON + day * DAY, 1)
    later = NOON + 19 * DAY
    writer._purge_place = lmdb_store.FIRST_RECORD
    steps = [writer.purge(later, 30) for _ in range(3)]
    assert sum(step.scanned for step in steps) == 90
    worker.close()
    writer.close()
    again = LmdbCounterWriter(writer.directory, doorkeeper_bytes=0)
    while not (step := again.purge(later, 30)).round_done:
        steps.append(step)
    steps.append(step)
    assert sum(step.scanned for step in steps) in range(200 - 19, 201)
    report = again.verify()
    assert (report.records, report.clean) == (100, True)
    again.close()


def test_purge_tidies_what_is_mostly_old(writer: LmdbCounterWriter, worker: LmdbCounters) -> None:
    for hour in range(0, 24 * 40, 12):
        worker.add(message(1), ONE, NOON + hour * 3600)
        worker.flush(NOON)
        writer.step(NOON + hour * 3600)
    last = NOON + (24 * 40 - 12) * 3600
    before = writer.verify().cells
    for hours in range(0, 14 * 24, 12):
        writer.purge(last + hours * 3600, 10)
    assert writer.verify().cells < before
    assert writer.verify().records == 1


async def test_a_wild_clock_purges_and_folds_nothing_within_its_first_hour(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    for bucket in range(40):
        worker.add(message(1), ONE, NOON + bucket * 600)
        worker.flush(NOON)
        writer.step(NOON + bucket * 600)
    now = NOON + 39 * 600
    want = await seen(worker, 1, now)
    for wild in (0.0, now + 400 * DAY):
        for _ in range(40):
            worker.add(message(1), ONE, wild)
            worker.flush(wild)
            writer.step(wild)
        assert writer.purge(wild, 1000).scanned == 0
        assert await seen(worker, 1, wild) == [40] * 4
        assert writer.step(now) == 0
    assert await seen(worker, 1, now) == want


async def test_a_count_of_another_age_is_left_out_and_told(
    writer: LmdbCounterWriter, worker: LmdbCounters, reports: list[str]
) -> None:
    worker.add(
        CountedPieces(shingles=(text(1),), pairs=(UniquePair(text(2), text(3)),)),
        ONE,
        NOON - 900 * DAY,
    )
    worker.add(message(4), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    assert "2 counts are left out" in reports[0]
    assert [await seen(worker, number) for number in (1, 2, 3, 4)] == [[0] * 4] * 3 + [[1] * 4]


def test_verify_names_what_is_wrong(writer: LmdbCounterWriter) -> None:
    key = record.key_of(text(1), CounterPrefix.IN)
    with writer.environment.begin(write=True) as txn:
        txn.put(key, b"short")
        txn.put(b"\0strange", b"")
    report = writer.verify()
    assert not report.clean
    assert sorted(problem.split(": ")[1] for problem in report.problems) == [
        "5 bytes are no whole cells",
        "an unknown note of the store's own",
    ]
    assert writer.purge(NOON, 10).scanned == 1  # and does not stumble


def test_positions_of_spools_that_are_gone_go_too(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    for _ in range(2):
        worker.add(message(1), ONE, NOON)
        worker.flush(NOON)
        writer.step(NOON)
    worker.close()
    writer.step(NOON)
    assert list((writer.directory / "spool").iterdir()) == []
    writer.step(NOON)
    with writer.environment.begin() as txn:
        assert lmdb_store.positions(txn) == {}


async def test_run_applies_purges_and_drains(
    writer: LmdbCounterWriter, worker: LmdbCounters
) -> None:
    stop = threading.Event()
    running = threading.Thread(
        target=writer.run, args=(stop, 0.005), kwargs={"clock": lambda: NOON}
    )
    running.start()
    try:
        worker.add(message(1), ONE, NOON)
        worker.flush(NOON)
        for _ in range(2000):
            if not worker.pending:
                break
            await seen(worker, 1)
            stop.wait(0.005)
        assert worker.pending == 0
    finally:
        stop.set()
        running.join(30)
    assert not running.is_alive()


def test_run_reports_a_failure_once_and_goes_on(
    writer: LmdbCounterWriter, reports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oborona.counters.writer_loop.RETRY_S", 0.0)
    outcomes = iter([StoreError("no disk"), StoreError("no disk"), None, StoreError("no disk")])

    class Stop:
        left = 6

        def is_set(self) -> bool:
            Stop.left -= 1
            return Stop.left < 0

        def wait(self, timeout: float, /) -> None:
            pass

    def step(_now: float) -> int:
        outcome = next(outcomes, None)
        if outcome is not None:
            raise outcome
        return 0

    monkeypatch.setattr(writer, "step", step)
    writer.run(Stop())
    stands = "counting stands still: no disk"
    goes = "counting goes on"
    assert reports == [stands, goes, stands, goes]


def test_stopping_with_a_full_disk_leaves_the_spools_and_says_so(
    writer: LmdbCounterWriter,
    worker: LmdbCounters,
    reports: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker.add(message(1), ONE, NOON)
    worker.flush(NOON)
    stop = threading.Event()
    stop.set()
    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.merge.apply", _no_room)
        writer.run(stop, clock=lambda: NOON)
    assert "waits for the next start: no room on the disk" in reports[0]
    assert writer.step(NOON) == 1


async def test_an_environment_that_panics_is_opened_again(
    writer: LmdbCounterWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = LmdbCounters(writer.directory, "worker-1")
    worker.add(message(1), ONE, NOON)
    worker.flush(NOON)
    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.merge.apply", _panic)
        with pytest.raises(StoreError, match="cannot use the counter store"):
            writer.step(NOON)
    assert writer.step(NOON) == 1
    with writer.environment.begin() as txn:
        assert txn.get(record.key_of(text(1), CounterPrefix.IN)) == record.cells(
            [1, 0, 0, 0, 0, 0], int(NOON // 600)
        )
    worker.close()


def test_an_environment_that_cannot_be_opened_again_is_tried_again(
    writer: LmdbCounterWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = LmdbCounters(writer.directory, "worker-1")
    worker.add(message(1), ONE, NOON)
    worker.flush(NOON)
    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.merge.apply", _panic)
        patch.setattr("oborona.counters.lmdb_write.lmdb.open", _no_room)
        for _ in range(2):
            with pytest.raises(StoreError, match="no room on the disk"):
                writer.step(NOON)
    assert writer.step(NOON) == 1
    assert writer.purge(NOON, 10).scanned == 1
    worker.close()


def test_slots_of_readers_that_cannot_be_looked_at_stop_no_counting(
    writer: LmdbCounterWriter,
    worker: LmdbCounters,
    reports: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stop:
        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return self.looks > 3

        def wait(self, timeout: float, /) -> None:
            pass

    class Environment:
        def __getattr__(self, name: str) -> object:
            return getattr(sound, name)

        def reader_check(self) -> int:
            raise lmdb.Error("no")

    sound = writer.environment
    monkeypatch.setattr("oborona.counters.writer.READER_CHECK_S", 0.0)
    monkeypatch.setattr(writer._store, "_environment", Environment())
    worker.add(message(1), ONE, NOON)
    worker.flush(NOON)
    writer.run(Stop(), clock=lambda: NOON)
    assert len(reports) == 1
    assert "counting stands still: cannot use the counter store" in reports[0]
    assert worker.flush(NOON) == 0
    assert writer.step(NOON) == 0  # it was applied


def test_a_reader_that_is_refused_lets_go_of_the_store(
    writer: LmdbCounterWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.close()
    opened: list[lmdb.Environment] = []
    real = lmdb.open

    def note(*args: object, **options: object) -> lmdb.Environment:
        opened.append(real(*args, **options))  # type: ignore[arg-type]
        return opened[-1]

    def refuse(_txn: object, directory: Path) -> bool:
        raise StoreVersion("newer")

    monkeypatch.setattr("oborona.counters.lmdb_store.lmdb.open", note)
    monkeypatch.setattr("oborona.counters.lmdb_store.check_version", refuse)
    with pytest.raises(StoreVersion):
        open_reader(writer.directory)
    with pytest.raises(lmdb.Error, match="closed"):
        opened[0].info()


def _no_room(*_: object, **__: object) -> None:
    raise lmdb.DiskError("no space left")


def _panic(*_: object, **__: object) -> None:
    raise lmdb.PanicError("update of the meta page failed")
