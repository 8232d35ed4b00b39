"""Several real processes on one store: exact totals, and the delay between them.

A worker process adds a known number a flush and says after each flush how far it is; what it said
is what must be there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.counters.readonly import open_reader
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.types import Metric, Shingle, Window

from .conftest import NOON

KEYS = 20

WORKER = f"""
import sys, time
from oborona.counters.store import LmdbCounters
from oborona.types import *
directory, number, flushes, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
counters = LmdbCounters(directory, f"worker-{{number}}", file_bytes=2_000)
shingles = tuple(Shingle(1, n) for n in range({KEYS}))
for flush in range(flushes):
    pairs = tuple(UniquePair(Shingle(30, 100 * n + flush % 7), Shingle(31, n)) for n in range(3))
    counters.add(CountedPieces(shingles=(*shingles, Shingle(2, number)), pairs=pairs), Amounts(seen=1, spam=2), {NOON})
    counters.flush({NOON})
    print(flush + 1, flush=True)
    time.sleep(pause)
counters.close()
"""

WRITER = f"""
import sys, threading
from oborona.counters.writer import LmdbCounterWriter
writer = LmdbCounterWriter(sys.argv[1], map_bytes=1 << 16)
print("ready", flush=True)
writer.run(threading.Event(), 0.002, clock=lambda: {NOON})
"""


class Processes:
    """Starts children, and ends those that are left."""

    def __init__(self) -> None:
        self.left: list[subprocess.Popen[str]] = []

    def start(self, script: str, *arguments: object) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
        )
        self.left.append(child)
        return child

    def kill(self, child: subprocess.Popen[str]) -> str:
        """Kill it as the kernel would, and return what it had said."""
        child.send_signal(signal.SIGKILL)
        said, _ = child.communicate(timeout=60)
        self.left.remove(child)
        return said

    def end(self, child: subprocess.Popen[str]) -> str:
        said, _ = child.communicate(timeout=120)
        assert child.returncode == 0
        self.left.remove(child)
        return said


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    for child in list(made.left):
        made.kill(child)


def counted(directory: Path, *shingles: Shingle) -> list[list[int]]:
    with open_reader(directory) as stored:
        totals = asyncio.run(stored.read(shingles, NOON))
    return [one[Window.DAY] for one in totals]


def apply_all(directory: Path) -> list[str]:
    """What a new writer does with all that is left; returns its reports."""
    reports: list[str] = []
    writer = LmdbCounterWriter(directory, report=reports.append)
    while writer.step(NOON):
        pass
    assert writer.verify().problems == []
    assert list((directory / "spool").glob("*")) == []
    writer.close()
    return reports


def test_many_processes_add_up_exactly(tmp_path: Path, processes: Processes) -> None:
    writer = processes.start(WRITER, tmp_path)
    workers = [processes.start(WORKER, tmp_path, number, 150, 0) for number in range(4)]
    for worker in workers:
        processes.end(worker)
    processes.kill(writer)
    assert all("may now grow" in line for line in apply_all(tmp_path))
    shingles = [Shingle(1, number) for number in range(KEYS)]
    assert counted(tmp_path, *shingles) == [[600, 1200, 0, 0, 0, 0]] * KEYS
    assert (
        counted(tmp_path, *(Shingle(2, number) for number in range(4)))
        == [[150, 300, 0, 0, 0, 0]] * 4
    )
    assert [one[Metric.SEEN] for one in counted(tmp_path, *(Shingle(31, n) for n in range(3)))] == [
        7
    ] * 3


def test_another_process_sees_an_add_soon(tmp_path: Path, processes: Processes) -> None:
    writer = processes.start(WRITER, tmp_path)
    assert writer.stdout
    assert writer.stdout.readline() == "ready\n"
    here = LmdbCounters(tmp_path, "here")
    there = processes.start(WORKER, tmp_path, 7, 1, 30)
    assert there.stdout
    assert there.stdout.readline() == "1\n"
    flushed = time.monotonic()
    totals = [[[0]]]
    while not totals[0][0][0] and time.monotonic() < flushed + 30:
        totals = asyncio.run(here.read([Shingle(2, 7)], NOON))
        time.sleep(0.001)
    assert totals[0][0][0] == 1
    assert time.monotonic() - flushed < 10  # against hangs; 0.01 s as a rule
    here.close()


def test_a_killed_reader_holds_nothing_back(tmp_path: Path, processes: Processes) -> None:
    script = f"""
import time
from pathlib import Path
from oborona.counters.lmdb_store import LmdbReader
with LmdbReader(Path({os.fspath(tmp_path)!r})).transaction() as txn:
    print("reading", flush=True)
    time.sleep(60)
"""
    writer = LmdbCounterWriter(tmp_path)
    reader = processes.start(script)
    assert reader.stdout
    assert reader.stdout.readline() == "reading\n"
    assert "no active readers" not in writer.environment.readers()
    processes.kill(reader)
    assert writer.environment.reader_check() == 1
    assert "no active readers" in writer.environment.readers()
    writer.close()
