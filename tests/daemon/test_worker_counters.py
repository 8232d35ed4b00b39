"""What a worker says of counters that cannot be written: when it begins, when memory is full, and
when it is over; and the last of them.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import Settings
from oborona.counters.store import LmdbCounters
from oborona.daemon.listeners import DoorListener
from oborona.daemon.publisher.publisher import PolicyPublisher
from oborona.daemon.state import prepare_state
from oborona.daemon.worker import WorkerProcess
from oborona.doors.context import DoorContext, DoorServer
from oborona.policy.fact_table import SCHEMA
from oborona.stores.policy_folders import policy_folders
from oborona.types import Amounts, CountedPieces, Shingle

KEY = b"k" * 32


async def start(_: DoorContext, __: socket.socket) -> DoorServer:
    raise NotImplementedError


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerProcess]:
    with socket.socket() as listener:
        yield WorkerProcess(
            number=0,
            settings=Settings(),
            name="mx.example",
            state=tmp_path,
            key=KEY,
            doors=[DoorListener(listener, "door", start)],
        )


def add(counters: LmdbCounters, first: int, count: int) -> None:
    shingles = tuple(Shingle(1, number) for number in range(first, first + count))
    counters.add(CountedPieces(shingles=shingles, pairs=()), Amounts(seen=1), time.time())


def test_a_full_disk_is_told_once_and_the_total_at_the_end(
    worker: WorkerProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    caplog.set_level(logging.INFO)
    monkeypatch.setattr("oborona.counters.add_spooler.RETRY_S", 0.0)
    counters = LmdbCounters(tmp_path / "counters", "worker-0", buffer_entries=10)
    for round_ in range(2):  # the second time is told as the first, with a number of its own
        caplog.clear()
        with monkeypatch.context() as patch:
            patch.setattr("oborona.counters.spool.os.write", no_room)
            for step in range(5):
                add(counters, 100 * step, 8)
                worker._flush_once(counters)
        assert [record.getMessage() for record in caplog.records] == [
            "counters wait in memory",
            "memory for counters is full, new ones are turned away",
        ]
        for _ in range(3):
            worker._flush_once(counters)
        [over] = caplog.records[2:]
        assert over.getMessage() == "counters are written again"
        assert vars(over)["fields"] == {"turned_away": 30}
        assert counters.dropped == 30 * (round_ + 1)
    counters.close()


def test_trouble_is_not_over_while_nothing_is_tried(
    worker: WorkerProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("oborona.counters.add_spooler.RETRY_S", 1e9)
    counters = LmdbCounters(tmp_path / "counters", "worker-0")
    add(counters, 0, 8)
    with monkeypatch.context() as patch:
        patch.setattr("oborona.counters.spool.os.write", no_room)
        for _ in range(3):
            worker._flush_once(counters)
    assert [record.getMessage() for record in caplog.records] == ["counters wait in memory"]
    counters.close()


class Kept:
    """Counters that tell what was done with them."""

    dropped, stuck = 0, False

    def __init__(self) -> None:
        self.done: list[str] = []

    def flush(self, now: float) -> int:
        self.done.append("flush")
        return 0

    def close(self) -> None:
        self.done.append("close")


class Drained:
    """A server that nobody has come to."""

    async def drain(self, grace_s: float) -> None:
        return None


async def test_a_status_that_can_not_be_taken_away_costs_no_counters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def enter(_: DoorContext, __: socket.socket) -> DoorServer:
        return Drained()

    counters = Kept()
    monkeypatch.setattr("oborona.daemon.worker.open_counters", lambda *_: counters)
    prepare_state(tmp_path)
    PolicyPublisher(policy_folders(Settings().paths), SCHEMA, tmp_path, KEY).begin()
    # what stands here is no file
    (tmp_path / state_files.STATUS / "worker-0.json").mkdir(parents=True)
    with socket.socket() as listener:
        worker = WorkerProcess(
            number=0,
            settings=Settings(),
            name="mx.example",
            state=tmp_path,
            key=KEY,
            doors=[DoorListener(listener, "door", enter)],
        )
        await worker._serve(worker._stop.set)
    assert counters.done[-2:] == ["flush", "close"]
    ((level, text),) = [
        (record.levelname, record.getMessage())
        for record in caplog.records
        if "behind" in record.getMessage()
    ]
    assert (level, text) == ("WARNING", "status stays behind")
