"""Several threads of a process read one store, each by a reader of its own, while it grows."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import lmdb
import pytest

from oborona.counters import lmdb_store, shared_environment
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.readonly import open_reader
from oborona.counters.stats import look
from oborona.errors import OboronaError, StoreBusy
from oborona.types import Metric, Shingle, Window

from .conftest import NOON

GROWING = f"""
import sys
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.types import *
writer = LmdbCounterWriter(sys.argv[1], map_bytes=1 << 16, doorkeeper_bytes=0)
worker = LmdbCounters(sys.argv[1], "worker-0", environment=writer.environment)
for step in range(int(sys.argv[2])):
    some = (Shingle(1, 0), *(Shingle(2, 1000 * step + n) for n in range(1000)))
    worker.add(CountedPieces(shingles=some, pairs=()), Amounts(seen=1), {NOON})
    worker.flush({NOON})
    writer.step({NOON})
    print(step + 1, flush=True)
sys.stdin.read()
writer.close()
"""


def seen(directory: Path) -> int:
    with open_reader(directory) as stored:
        (row,) = asyncio.run(stored.read([Shingle(1, 0)], NOON))
    return row[Window.DAY][Metric.SEEN]


def test_threads_read_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_store, "MAP_BYTES", 1 << 16)  # so that the map of readers must grow
    steps, over, faults = 40, threading.Event(), list[Exception]()
    number = [0] * 6

    def read(place: int) -> None:
        before = 0
        while not over.is_set():
            try:
                now = seen(tmp_path)
                assert before <= now <= steps
                before = now
                if place % 2:
                    look(tmp_path, NOON, types=True)
            except Exception as fault:  # noqa: BLE001 - told by the test
                faults.append(fault)
                return
            number[place] += 1

    with subprocess.Popen(
        [sys.executable, "-c", GROWING, tmp_path, str(steps)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as growing:  # fmt: skip
        assert growing.stdout is not None
        assert growing.stdout.readline() == "1\n"
        threads = [threading.Thread(target=read, args=(place,)) for place in range(6)]
        for thread in threads:
            thread.start()
        for line in growing.stdout:
            if line == f"{steps}\n":
                break
        assert seen(tmp_path) == steps
        over.set()
        for thread in threads:
            thread.join()
        growing.communicate("", timeout=60)
    assert faults == []
    assert min(number) > 0
    assert shared_environment._by_file == {}, "the last one closed it"


def test_who_reads_for_too_long_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_store, "MAP_BYTES", 1 << 16)
    monkeypatch.setattr(shared_environment, "PATIENCE_S", 0.1)
    for steps in (1, 40):
        with subprocess.Popen(
            [sys.executable, "-c", GROWING, tmp_path, str(steps)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as growing:  # fmt: skip
            growing.communicate("", timeout=120)
        if steps == 1:
            first, second = LmdbReader(tmp_path), LmdbReader(tmp_path)
            long = first.transaction()
            assert long.__enter__() is not None
    with pytest.raises(StoreBusy, match="has grown"), second.transaction():
        pass
    long.__exit__(None, None, None)
    with second.transaction() as txn:
        assert txn is not None
    first.close()
    second.close()


def test_a_child_has_environments_of_its_own(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", GROWING, tmp_path, "1"], stdin=subprocess.PIPE, text=True
    ) as growing:
        growing.communicate("", timeout=60)
    reader = LmdbReader(tmp_path)
    with reader.transaction() as txn:
        assert txn is not None
    child = os.fork()
    if not child:  # what py-lmdb knows of is its parent's, too: it is let go first
        status = 1
        try:
            with pytest.raises(OboronaError, match="before a fork"), reader.transaction():
                pass
            reader.close()
            status = int(seen(tmp_path) != 1)
        except (lmdb.Error, OboronaError):
            status = 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert seen(tmp_path) == 1
    reader.close()
