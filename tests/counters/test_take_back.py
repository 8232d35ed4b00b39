"""Taking back on its way through spool, writer and store: what an older program is told, what
another worker did first, what is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from oborona.counters import batch, lmdb_store, record
from oborona.counters.buffer import AddBuffer
from oborona.counters.compact import compact
from oborona.counters.lmdb_store import U32, VERSION_KEY
from oborona.counters.readonly import open_reader
from oborona.counters.record import key_of
from oborona.counters.store import LmdbCounters
from oborona.counters.window import bucket_of
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreVersion
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, Window

from .conftest import NOON

SUBJECT, OTHER = Shingle(8, 1), Shingle(8, 2)
ONE, SPAM = Amounts(seen=1), Amounts(seen=1, spam=1)
DAY = 86_400
BUCKET = bucket_of(NOON)

WORKER = f"""
import sys
from oborona.counters.store import LmdbCounters
from oborona.types import *
counters = LmdbCounters(sys.argv[1], "worker-1", file_bytes=2_000)
shingles = tuple(Shingle(8, number) for number in range(20))
for flush in range(10_000):
    counters.add(CountedPieces(shingles=shingles, pairs=()), Amounts(seen=1, spam=2), {NOON} - flush % 3 * 600)
    counters.take_back(shingles, Amounts(seen=1, spam=2), {NOON} - flush % 3 * 600)
    counters.take_back(shingles, Amounts(spam=1), {NOON})
    counters.add(CountedPieces(shingles=shingles, pairs=()), Amounts(spam=1), {NOON})
    counters.flush({NOON})
    print(flush, flush=True)
"""

WRITER = f"""
import sys, threading
from oborona.counters.writer import LmdbCounterWriter
writer = LmdbCounterWriter(sys.argv[1], map_bytes=1 << 16, doorkeeper_bytes=1 << 16)
print("ready", flush=True)
writer.run(threading.Event(), 0.002, clock=lambda: {NOON})
"""


def message(*shingles: Shingle) -> CountedPieces:
    return CountedPieces(shingles=shingles, pairs=())


def version_of(directory: Path) -> int:
    with lmdb.open(str(directory), readonly=True) as environment, environment.begin() as txn:
        return int.from_bytes(txn.get(VERSION_KEY, b""), "little")


async def seen(counters: LmdbCounters, shingle: Shingle = SUBJECT, now: float = NOON) -> list[int]:
    [totals] = await counters.read([shingle], now)
    return [totals[window][Metric.SEEN] for window in Window]


@pytest.fixture(params=[0, 1 << 16], ids=["records", "doorkept"])
def writer(
    request: pytest.FixtureRequest, tmp_path: Path, reports: list[str]
) -> Iterator[LmdbCounterWriter]:
    made = LmdbCounterWriter(
        tmp_path / "counters", doorkeeper_bytes=request.param, report=reports.append
    )
    yield made
    made.close()


@pytest.fixture
def workers(writer: LmdbCounterWriter) -> Iterator[list[LmdbCounters]]:
    made = [
        LmdbCounters(writer.directory, f"worker-{number}", environment=writer.environment)
        for number in range(2)
    ]
    yield made
    for one in made:
        one.close()


async def test_a_take_back_that_overtakes_its_add_waits_for_it(
    writer: LmdbCounterWriter, workers: list[LmdbCounters]
) -> None:
    adds, takes = workers
    adds.add(message(SUBJECT, OTHER), SPAM, NOON)
    takes.add(message(OTHER), ONE, NOON)
    takes.take_back([SUBJECT, OTHER], SPAM, NOON)
    takes.flush(NOON)
    writer.step(NOON)
    assert await seen(takes) == [0] * 4
    assert await seen(adds) == [0] * 4, "its own add, less what the store takes"
    assert await seen(adds, OTHER) == [1] * 4
    [line] = await adds.timelines([SUBJECT], NOON)
    assert not any(map(any, line.buckets + line.days))
    adds.flush(NOON)
    writer.step(NOON)
    assert await seen(takes) == await seen(adds) == [0] * 4
    assert await seen(takes, OTHER) == [1] * 4
    adds.add(message(SUBJECT), ONE, NOON)
    adds.flush(NOON)
    writer.step(NOON)
    assert await seen(takes) == [1] * 4
    assert writer.verify().problems == []


async def test_what_is_seen_once_and_taken_back_leaves_nothing(
    writer: LmdbCounterWriter, workers: list[LmdbCounters]
) -> None:
    one, two = workers
    shingles = [Shingle(8, number) for number in range(500)]
    one.add(message(*shingles), ONE, NOON - 3 * DAY)
    one.flush(NOON)
    writer.step(NOON)
    two.take_back(shingles, ONE, NOON - 3 * DAY)
    two.flush(NOON)
    writer.step(NOON)
    assert await two.read(shingles, NOON) == [[[0] * 6] * 4] * 500
    assert writer.verify().records == 0
    one.add(message(*shingles), ONE, NOON)
    one.flush(NOON)
    writer.step(NOON)
    assert [row[Window.FORTNIGHT][Metric.SEEN] for row in await two.read(shingles, NOON)] == [
        1
    ] * 500


async def test_what_is_folded_into_days_is_taken_back_from_its_day(
    writer: LmdbCounterWriter, workers: list[LmdbCounters]
) -> None:
    """A day's buckets become one cell, and what comes later is subtracted from it, whatever the
    time is by then.
    """
    worker = workers[0]
    for minutes in range(0, 3 * 1440, 10):
        at = NOON + minutes * 60
        worker.add(message(SUBJECT), SPAM, at)
        if minutes % 200 == 0:
            worker.flush(at)
            writer.step(at)
    now = NOON + 3 * DAY
    for minutes in range(0, 3 * 1440, 20):
        worker.take_back([SUBJECT], SPAM, NOON + minutes * 60)
    worker.flush(now)
    writer.step(now)
    writer.purge(now, 1000)
    assert await seen(worker, now=now - 600) == [1, 3, 72, 216]
    [line] = await worker.timelines([SUBJECT], now - 600)
    assert [bucket[Metric.SPAM] for bucket in line.buckets] == [0, 1] * 72
    for minutes in range(10, 3 * 1440, 20):
        worker.take_back([SUBJECT], SPAM, NOON + minutes * 60)
    worker.flush(now)
    writer.step(now)
    assert await seen(worker, now=now) == [0] * 4
    assert writer.verify().records == 0


async def test_readers_and_a_compacted_copy_have_it_too(tmp_path: Path) -> None:
    writer = LmdbCounterWriter(tmp_path, doorkeeper_bytes=0)
    worker = LmdbCounters(tmp_path, "worker", environment=writer.environment)
    worker.add(message(SUBJECT, OTHER), Amounts(seen=5, spam=3), NOON)
    worker.take_back([SUBJECT], Amounts(seen=2, spam=3), NOON)
    worker.take_back([Shingle(8, 3)], Amounts(seen=7), NOON)  # its add is on its way
    worker.flush(NOON)
    writer.step(NOON)
    writer.keep_top()
    worker.close()
    writer.close()
    for _ in range(2):
        with open_reader(tmp_path) as stored:
            rows = await stored.read([SUBJECT, OTHER, Shingle(8, 3)], NOON)
            assert [row[Window.DAY][:2] for row in rows] == [[3, 0], [5, 3], [0, 0]]
            lines = await stored.timelines([SUBJECT, Shingle(8, 3)], NOON)
            assert [line.days[-1][Metric.SEEN] for line in lines] == [3, 0]
            assert await stored.top(8, Metric.SEEN, Window.DAY, NOON) == [(OTHER, 5), (SUBJECT, 3)]
        compact(tmp_path)
    assert version_of(tmp_path) == 3


def test_a_spool_says_that_something_is_taken_back_only_where_it_is() -> None:
    buffer = AddBuffer()
    buffer.add([key_of(SUBJECT, CounterPrefix.IN)], [], SPAM, NOON)
    assert batch.START.unpack_from(batch.encode(buffer, 1, NOON))[1] == 1
    buffer.take_back([key_of(SUBJECT, CounterPrefix.IN)], Amounts(), NOON)
    assert batch.START.unpack_from(batch.encode(buffer, 1, NOON))[1] == 1, "nothing is taken back"
    buffer.take_back([key_of(SUBJECT, CounterPrefix.IN)], SPAM, NOON - DAY)
    buffer.take_back([key_of(SUBJECT, CounterPrefix.IN)], Amounts(seen=300), NOON - DAY)
    data = batch.encode(buffer, 1, NOON)
    assert batch.START.unpack_from(data)[1] == 3
    one = batch.decode(data)
    assert (one.takes, one.forgotten) == (True, [])
    assert [segment.bucket for segment in one.segments] == [BUCKET, BUCKET - 144]
    assert one.segments[1].cells.tobytes() == record.cells(
        [301, 1, 0, 0, 0, 0], BUCKET - 144, taken=True
    )


def test_a_full_buffer_turns_new_keys_away_from_being_taken_back() -> None:
    buffer = AddBuffer(limit=10)
    keys = [key_of(Shingle(8, number), CounterPrefix.IN) for number in range(12)]
    buffer.take_back(keys, ONE, NOON)
    buffer.take_back(keys, ONE, NOON)
    assert (buffer.entries, buffer.dropped) == (10, 4)


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Oborona that knows nothing of taking back."""
    monkeypatch.setattr(batch, "VERSION", 2)
    monkeypatch.setattr(lmdb_store, "VERSION", 2)


def taken_back(directory: Path, *, apply: bool) -> None:
    writer = LmdbCounterWriter(directory, doorkeeper_bytes=0)
    worker = LmdbCounters(directory, "worker", environment=writer.environment)
    worker.add(message(SUBJECT), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    assert lmdb_version(writer) == 2, "none is yet"
    worker.take_back([SUBJECT], ONE, NOON)
    worker.flush(NOON)
    if apply:
        writer.step(NOON)
    worker.close()
    writer.close()


def lmdb_version(writer: LmdbCounterWriter) -> int:
    with writer.environment.begin() as txn:
        return int(U32.unpack(txn.get(VERSION_KEY, b""))[0])


@pytest.mark.usefixtures("older")
def test_an_older_program_leaves_such_a_spool_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(batch, "VERSION", 3)
        newer.setattr(lmdb_store, "VERSION", 3)
        taken_back(tmp_path, apply=False)
    reports: list[str] = []
    writer = LmdbCounterWriter(tmp_path, doorkeeper_bytes=0, report=reports.append)
    assert writer.step(NOON) == 0
    assert any("is left alone: it has version 3" in line for line in reports)
    writer.close()


@pytest.mark.usefixtures("older")
def test_an_older_program_refuses_such_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(batch, "VERSION", 3)
        newer.setattr(lmdb_store, "VERSION", 3)
        taken_back(tmp_path, apply=True)
    for opened in (LmdbCounterWriter, open_reader):
        with pytest.raises(StoreVersion, match="version 3, this Oborona knows 2"):
            opened(tmp_path)


def test_a_store_goes_on_being_one_in_which_something_is_taken_back(tmp_path: Path) -> None:
    taken_back(tmp_path, apply=True)
    reports: list[str] = []
    LmdbCounterWriter(tmp_path, doorkeeper_bytes=0, report=reports.append).close()
    assert version_of(tmp_path) == 3
    assert reports == []


async def test_processes_that_are_killed_leave_what_cancels_itself_at_nothing(
    tmp_path: Path,
) -> None:
    """Each flush of the worker cancels itself, so whole flushes and none are alike.

    The writer dies in the middle of its work.
    """

    def start(script: str) -> subprocess.Popen[str]:
        made = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        left.append(made)
        assert made.stdout is not None
        assert made.stdout.readline()
        return made

    left: list[subprocess.Popen[str]] = []
    try:
        start(WORKER)
        for _ in range(4):
            writer = start(WRITER)
            start(WORKER).kill()
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
    finally:
        for one in left:
            one.kill()
            one.wait()
            assert one.stdout is not None
            one.stdout.close()
    last = LmdbCounterWriter(tmp_path, doorkeeper_bytes=1 << 16, report=lambda _line: None)
    while last.step(NOON):
        pass
    reader = LmdbCounters(tmp_path, "reader", environment=last.environment)
    shingles = [Shingle(8, number) for number in range(20)]
    assert await reader.read(shingles, NOON) == [[[0] * 6] * 4] * 20
    assert last.verify().problems == []
    assert last.verify().records == 0
    reader.close()
    last.close()


def test_a_step_that_cancels_itself_makes_no_record(
    writer: LmdbCounterWriter, workers: list[LmdbCounters]
) -> None:
    for number, worker in enumerate(workers):
        worker.add(message(SUBJECT, Shingle(9, number)), SPAM, NOON)
        worker.take_back([SUBJECT, Shingle(9, number)], Amounts(spam=1), NOON)
        worker.take_back([SUBJECT], ONE, NOON)
        worker.flush(NOON)
    writer.step(NOON)
    assert writer.verify().records == (0 if writer._doorkeeper else 2), "what is left was seen once"
