"""Two hundred times kill -9, of workers and of the writer, at random moments under load.

What a worker has said to be flushed is counted, once; of the flush that it was killed in all or
nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.counters.writer import DOORKEEPER_BYTES

from .load import STORE, Nursery, found, misfits, open_writer

KILLS = 200
AT_ONCE = 3  # workers
PAUSE_S = 0.004
BETWEEN_S = 0.05  # two kills, at most


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    made = Nursery(tmp_path, table_bytes=DOORKEEPER_BYTES)
    yield made
    made.close()


@pytest.mark.slow
def test_no_flush_is_lost_or_counted_twice_whoever_is_killed(
    tmp_path: Path, nursery: Nursery
) -> None:
    chance = random.Random(4)
    writer = nursery.writer()
    workers = {number: nursery.worker(number, PAUSE_S) for number in range(AT_ONCE)}
    started = AT_ONCE
    writers_killed = 0
    for _ in range(KILLS):
        time.sleep(chance.uniform(0, BETWEEN_S))
        if chance.random() < 0.5:
            nursery.kill(writer)
            writer = nursery.writer()
            writers_killed += 1
        else:
            nursery.kill(workers.pop(chance.choice(sorted(workers))))
            workers[started] = nursery.worker(started, PAUSE_S)
            started += 1
    for process in (*workers.values(), writer):
        nursery.kill(process)
    assert KILLS // 3 < writers_killed < KILLS * 2 // 3

    said = {number: nursery.said(number) for number in range(started)}
    assert sum(said.values()) > KILLS
    reports: list[str] = []
    last = open_writer(tmp_path, "second", reports.append, DOORKEEPER_BYTES)
    while last.step(time.time()):
        pass
    there = found(last, {number: flushes + 2 for number, flushes in said.items()})
    assert there.problems == []
    assert last.verify().problems == []
    last.close()
    for number, flushes in there.flushes.items():
        assert flushes[: said[number]] == [True] * said[number]
        assert not flushes[-1]
    # after so many deaths, and on a machine that has other work
    told = ("may now grow", "cut short", "all of it is read first", "s behind", "caught up")
    assert [line for line in reports if not any(words in line for words in told)] == []
    assert list((tmp_path / STORE / state_files.COUNTERS_SPOOL).iterdir()) == []
    assert misfits(tmp_path / STORE) == []
