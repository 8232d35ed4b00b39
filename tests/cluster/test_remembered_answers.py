"""Answers that a worker remembers beside its own adds: nothing is missing while they serve, however
slow the machine is.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from oborona.counters.cluster import page_queries
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess
from oborona.types import Amounts, CountedPieces, Metric, Shingle, UniquePair, Window

NOON: Final = 20_000 * 86_400 + 43_200.0
STALE_S: Final = 1.0
ONE: Final = Amounts(seen=1)
SPREAD: Final = tuple(Shingle(8, tag << 56) for tag in range(256))  # one for each tag


class Machine:
    """A worker and its sender, whose clock is set by hand."""

    def __init__(
        self, directory: Path, access: ClusterAccess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._monkeypatch = monkeypatch
        self._began = time.monotonic()
        self.writer = ClusterWriter(directory, access, report=lambda _line: None)
        self.worker = ClusterCounters(
            directory,
            "worker",
            access,
            environment=self.writer.environment,
            deadline_s=30.0,
            stale_s=STALE_S,
        )

    def clock(self, *times: float) -> None:
        """Let the next looks at the clock show these seconds, and all after them the last."""
        ticking = itertools.chain(times, itertools.repeat(times[-1]))
        told = SimpleNamespace(monotonic=lambda: self._began + next(ticking))
        self._monkeypatch.setattr(page_queries, "time", told)

    def add(self, pieces: CountedPieces) -> None:
        """Count a message, and bring it into the cluster."""
        self.worker.add(pieces, ONE, NOON)
        self.worker.flush(NOON)
        self.writer.step(NOON)
        self.writer.step(NOON)  # the outbox notes that all have it

    async def seen(self, *shingles: Shingle) -> set[int]:
        """Return what shingles counted, in any window."""
        rows = await self.worker.read(shingles, NOON)
        return {row[window][Metric.SEEN] for row in rows for window in Window}


@pytest.fixture
def machine(
    tmp_path: Path, access: ClusterAccess, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Machine]:
    made = Machine(tmp_path, access, monkeypatch)
    yield made
    made.writer.close()


@pytest.mark.parametrize("remembered", [False, True])
async def test_an_own_pair_counts_whatever_was_remembered_of_its_halves(
    machine: Machine, remembered: bool
) -> None:
    """The page of P is younger than what is remembered of U: it has the pair, U's does not yet."""
    pair = UniquePair(both=Shingle(30, 10), distinct=Shingle(31, 1))
    machine.clock(100.0)
    assert await machine.seen(pair.both) == {0}
    machine.clock(100.5)
    assert await machine.seen(pair.distinct) == {0}
    machine.add(CountedPieces(shingles=(), pairs=(pair,)))
    machine.clock(101.2)
    if remembered:
        assert await machine.seen(pair.both) == {1}
    assert await machine.seen(pair.distinct) == {1}
    machine.worker.close()


async def test_a_read_that_takes_long_forgets_nothing_that_its_answers_lack(
    machine: Machine,
) -> None:
    """A machine under load may stand still between looking into its memory and looking at the
    outbox.
    """
    message = CountedPieces(shingles=SPREAD, pairs=())
    machine.add(message)
    machine.clock(100.0)
    assert await machine.seen(*SPREAD) == {1}
    machine.add(message)
    machine.clock(100.1)
    assert await machine.seen(*SPREAD) == {2}, "its own beside the answers in memory"
    machine.clock(100.9, 105.0)
    assert await machine.seen(*SPREAD) == {2}
    machine.clock(106.0)
    assert await machine.seen(*SPREAD) == {2}
    machine.worker.close()
