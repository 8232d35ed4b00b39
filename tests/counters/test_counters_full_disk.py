"""A disk that fills up: loud, nothing lost, and counting goes on when there is room.

A tmpfs of a megabyte is mounted where the tests may mount; a limit on file sizes
cuts writes short everywhere.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreFull
from oborona.types import Amounts, CountedPieces, Shingle

from .conftest import NOON

ONE = Amounts(seen=1)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    where = tmp_path / "disk"
    where.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "oborona-test", str(where)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def fill(directory: Path) -> Path:
    ballast = directory / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return ballast


def text(start: int, count: int) -> CountedPieces:
    return CountedPieces(
        shingles=tuple(Shingle(1, number) for number in range(start, start + count)), pairs=()
    )


async def all_seen(worker: LmdbCounters, count: int) -> set[int]:
    totals = await worker.read([Shingle(1, number) for number in range(count)], NOON)
    return {one[0][0] for one in totals}


async def test_a_full_disk_stops_the_writer_and_loses_nothing(small_disk: Path) -> None:
    writer = LmdbCounterWriter(small_disk, doorkeeper_bytes=0)
    worker = LmdbCounters(small_disk, "worker-0", environment=writer.environment)
    worker.add(text(0, 20_000), ONE, NOON)
    worker.flush(NOON)
    ballast = fill(small_disk)
    for _ in range(3):
        with pytest.raises(StoreFull, match="no room on the disk"):
            writer.step(NOON)
    assert await all_seen(worker, 20_000) == {1}  # still in the worker
    ballast.unlink()
    assert writer.step(NOON) == 1
    assert await all_seen(worker, 20_000) == {1}
    assert writer.verify().clean
    assert worker.pending == 0
    worker.close()
    writer.close()


async def test_a_writer_starts_on_a_full_disk_and_goes_on_when_there_is_room(
    small_disk: Path,
) -> None:
    reports: list[str] = []
    writer = LmdbCounterWriter(small_disk, doorkeeper_bytes=0)
    worker = LmdbCounters(small_disk, "worker-0", environment=writer.environment)
    worker.add(text(0, 100), ONE, NOON)
    worker.flush(NOON)
    worker.close()
    writer.close()
    ballast = fill(small_disk)
    writer = LmdbCounterWriter(small_disk, doorkeeper_bytes=0, report=reports.append)
    assert any("no room" in report for report in reports)
    ballast.unlink()
    assert writer.step(NOON) == 1
    assert writer.verify().records == 100
    writer.close()


async def test_a_full_disk_keeps_adds_in_the_worker_and_is_told_once(small_disk: Path) -> None:
    writer = LmdbCounterWriter(small_disk, doorkeeper_bytes=0)
    worker = LmdbCounters(small_disk, "worker-0", environment=writer.environment)
    worker.add(text(0, 10), ONE, NOON)
    worker.flush(NOON)
    ballast = fill(small_disk)
    worker.add(text(0, 20_000), ONE, NOON)
    with pytest.raises(StoreFull, match="cannot write"):
        worker.flush(NOON)
    for tenth in range(1, 30):
        worker.add(text(0, 20), ONE, NOON)
        assert worker.flush(NOON + tenth / 10) == 0
    assert await all_seen(worker, 20_000) == {1, 30, 31}
    ballast.unlink()
    assert worker.flush(NOON + 5) == 20_000
    writer.step(NOON)
    assert await all_seen(worker, 20_000) == {1, 30, 31}
    assert (worker.pending, worker.dropped) == (0, 0)
    worker.close()
    writer.close()


async def test_a_buffer_that_can_go_nowhere_counts_what_it_turns_away(small_disk: Path) -> None:
    writer = LmdbCounterWriter(small_disk, doorkeeper_bytes=0)
    worker = LmdbCounters(
        small_disk, "worker-0", environment=writer.environment, buffer_entries=100
    )
    ballast = fill(small_disk)
    worker.add(text(0, 80), ONE, NOON)
    with pytest.raises(StoreFull):
        worker.flush(NOON)
    worker.add(text(60, 60), ONE, NOON)
    assert worker.dropped == 20
    ballast.unlink()
    assert worker.flush(NOON + 2) == 100
    assert worker.dropped == 20
    worker.close()
    writer.close()


LIMITED = """
import asyncio, resource, sys
from oborona.counters.writer import LmdbCounterWriter
from oborona.counters.store import LmdbCounters
from oborona.errors import StoreError, StoreFull
from oborona.types import *
now = {now}
writer = LmdbCounterWriter(sys.argv[1], doorkeeper_bytes=0)
worker = LmdbCounters(sys.argv[1], "worker-0", environment=writer.environment)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
worker.add(CountedPieces(shingles=tuple(Shingle(1, n) for n in range(20_000)), pairs=()), Amounts(seen=1), now)
worker.flush(now)
for _ in range(3):
    try:
        print("applied", writer.step(now))
    except StoreError as error:
        print(error.__class__.__name__, "cut short" in str(error))
worker.add(CountedPieces(shingles=tuple(Shingle(1, n) for n in range(20_000)), pairs=()), Amounts(seen=1), now)
try:
    print("flushed", worker.flush(now))
except StoreFull as error:
    print("worker full")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("flushed", worker.flush(now + 2))
print("applied", writer.step(now))
[one] = asyncio.run(worker.read([Shingle(1, 0)], now))
print(one[Window.DAY][0], worker.pending, writer.verify().problems)
"""


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED.format(now=NOON), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        *["StoreError True"] * 3,
        "worker full",
        "flushed 20000",
        "applied 2",
        "2 0 []",
    ]
