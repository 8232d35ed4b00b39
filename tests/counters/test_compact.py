"""Compaction: the same counts in a smaller file, whoever reads meanwhile and whatever is killed
when.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from struct import Struct
from types import FrameType

import pytest

from oborona import state_files
from oborona.counters import compact as compaction
from oborona.counters.compact import CompactionResult, compact
from oborona.counters.lmdb_store import U32, VERSION, VERSION_KEY
from oborona.counters.readonly import open_reader
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreBusy, StoreError, StoreFull, StoreVersion
from oborona.lock import hold
from oborona.types import Amounts, CountedPieces, Metric, Shingle, Window

from .conftest import NOON

KEPT = [Shingle(8, hash_ << 40) for hash_ in range(200)]
PASSING = [Shingle(9, hash_ << 40) for hash_ in range(3000)]
FRESH = multiprocessing.get_context("spawn")  # an environment is opened once in a process
HARMLESS = {
    "builtins",
    "sys",
    "time",
}  # modules of C that change nothing outside the process; files are opened by `io` and `posix`


def add(worker: LmdbCounters, shingles: list[Shingle], amount: int) -> None:
    worker.add(CountedPieces(shingles=tuple(shingles), pairs=()), Amounts(seen=amount), NOON)
    worker.flush(NOON)


async def counted(directory: Path, shingles: list[Shingle]) -> set[int]:
    """Return the counts that there are."""
    with open_reader(directory) as store:
        return {row[Window.DAY][Metric.SEEN] for row in await store.read(shingles, NOON)}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A store of 200 records with room for 3,200, which no process has open."""
    made = tmp_path / "counters"
    writer = LmdbCounterWriter(made)
    worker = LmdbCounters(made, "worker-0", environment=writer.environment)
    add(worker, KEPT + PASSING, 2)
    writer.step(NOON)
    for shingle in PASSING:
        worker.forget(shingle, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    writer.step(NOON)
    worker.close()
    writer.close()
    return made


def in_another_process(work: Callable[[Path], object], directory: Path) -> None:
    process = FRESH.Process(target=work, args=(directory,))
    process.start()
    process.join(240)
    assert process.exitcode == 0


async def test_the_file_shrinks_and_the_counts_stay(directory: Path) -> None:
    before = (directory / state_files.COUNTERS_DATA).stat()
    done = compact(directory)
    after = (directory / state_files.COUNTERS_DATA).stat()
    assert done == CompactionResult(before=before.st_size, after=after.st_size)
    assert after.st_size * 3 < before.st_size
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert not (directory / state_files.COUNTERS_COMPACTING).exists()
    assert await counted(directory, KEPT) == {2}
    assert await counted(directory, PASSING) == {0}
    writer = LmdbCounterWriter(directory)
    assert writer.verify().clean
    assert writer.verify().records == len(KEPT)
    writer.close()


@pytest.fixture
def idle_reader(directory: Path) -> Iterator[None]:
    """A process that has the store open, and with it LMDB's lock file, and does not read again."""
    ready, leave = FRESH.Event(), FRESH.Event()
    process = FRESH.Process(target=_stay, args=(directory, ready, leave))
    process.start()
    assert ready.wait(240)
    yield
    leave.set()
    process.join(240)
    assert process.exitcode == 0


@pytest.mark.parametrize("more", [0, 1])
async def test_who_has_it_open_goes_on_with_the_new_file(
    directory: Path, idle_reader: None, more: int
) -> None:
    """The last transaction before it has an odd number once and an even one once.

    LMDB takes its page from that.
    """
    for _ in range(more):
        in_another_process(_commit, directory)
    reader = LmdbCounters(directory, "reader")
    for expected in (2, 3):
        in_another_process(_compact, directory)
        assert {row[Window.DAY][Metric.SEEN] for row in await reader.read(KEPT, NOON)} == {expected}
        in_another_process(_count_once, directory)
        assert {row[Window.DAY][Metric.SEEN] for row in await reader.read(KEPT, NOON)} == {
            expected + 1
        }
    reader.close()
    in_another_process(_verify, directory)


def test_killed_at_any_call_it_leaves_a_whole_store(directory: Path) -> None:
    in_another_process(_kill_everywhere, directory)


def test_it_is_refused_while_a_writer_runs_and_stops_one_from_starting(directory: Path) -> None:
    ours = rf"oborona writer \(pid {os.getpid()}.*stop it first"
    with (
        hold(directory / state_files.COUNTERS_LOCK, "oborona writer"),
        pytest.raises(StoreBusy, match=ours),
    ):
        compact(directory)
    with (
        hold(directory / state_files.COUNTERS_LOCK, compaction.PROGRAM),
        pytest.raises(StoreBusy, match=compaction.PROGRAM),
    ):
        LmdbCounterWriter(directory)


async def test_without_room_the_store_stays(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "LEAST_ROOM", 1 << 60)
    before = (directory / state_files.COUNTERS_DATA).stat()
    with pytest.raises(StoreFull, match="no room"):
        compact(directory)
    assert os.path.samestat(before, (directory / state_files.COUNTERS_DATA).stat())
    assert await counted(directory, KEPT) == {2}


def test_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no counter store"):
        compact(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("found", [VERSION + 1, None])
def test_another_store_than_ours_stays_as_it_is(directory: Path, found: int | None) -> None:
    writer = LmdbCounterWriter(directory)
    with writer.environment.begin(write=True) as txn:
        if found is None:
            txn.delete(VERSION_KEY)
        else:
            txn.put(VERSION_KEY, U32.pack(found))
    writer.close()
    before = (directory / state_files.COUNTERS_DATA).stat()
    with pytest.raises(StoreError) as refused:
        compact(directory)
    assert isinstance(refused.value, StoreVersion) == (found is not None)
    assert os.path.samestat(before, (directory / state_files.COUNTERS_DATA).stat())
    assert not (directory / state_files.COUNTERS_COMPACTING).exists()


def test_a_damaged_store_is_refused_and_not_touched(directory: Path) -> None:
    data = directory / state_files.COUNTERS_DATA
    data.write_bytes(b"\0" * data.stat().st_size)
    with pytest.raises(StoreError, match="damaged"):
        compact(directory)
    assert data.read_bytes().count(0) == data.stat().st_size


def test_a_copy_of_an_unknown_format_is_refused(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "META_FORMAT", 999)
    before = (directory / state_files.COUNTERS_DATA).stat()
    with pytest.raises(StoreError, match="format"):
        compact(directory)
    assert os.path.samestat(before, (directory / state_files.COUNTERS_DATA).stat())
    assert not (directory / state_files.COUNTERS_COMPACTING).exists()


def _compact(directory: Path) -> None:
    compact(directory)


def _count_once(directory: Path) -> None:
    writer = LmdbCounterWriter(directory)
    worker = LmdbCounters(directory, "worker-1", environment=writer.environment)
    add(worker, KEPT, 1)
    writer.step(NOON)
    worker.close()
    writer.close()


def _stay(directory: Path, ready: Event, leave: Event) -> None:
    with open_reader(directory):
        ready.set()
        leave.wait(240)


def _commit(directory: Path) -> None:
    writer = LmdbCounterWriter(directory)
    with writer.environment.begin(write=True) as txn:
        txn.put(VERSION_KEY, U32.pack(VERSION))
    writer.close()


def _verify(directory: Path) -> None:
    writer = LmdbCounterWriter(directory)
    assert writer.verify().clean
    writer.close()


def _kill_everywhere(directory: Path) -> None:
    """Compact in a child that is killed at its first call out of Python, then in one that is killed
    at its second, and so on.
    """
    deaths = 0
    while _dies_at_call(directory, deaths):
        deaths += 1
        writer = LmdbCounterWriter(directory)
        found = writer.verify()
        assert found.clean
        assert found.records == len(KEPT)
        writer.close()
    assert deaths > 50, "it was killed nowhere"
    assert not (directory / state_files.COUNTERS_COMPACTING).exists(), (
        "the last one was not killed, and removed what others left"
    )


def _dies_at_call(directory: Path, number: int) -> bool:
    child = os.fork()
    if not child:
        calls = 0

        def count(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "c_call" and _may_leave_a_mark(argument)
            if calls > number:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        compact(directory)
        sys.setprofile(None)
        os._exit(0)
    _child, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def _may_leave_a_mark(function: object) -> bool:
    """Tell whether a function of C may change a file or a lock: a death between two such calls
    leaves what one at the second does.
    """
    if getattr(function, "__module__", None) in HARMLESS or function is os.fspath:
        return False
    return not isinstance(getattr(function, "__self__", None), str | list | dict | type | Struct)
