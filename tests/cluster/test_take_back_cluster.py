"""Taking back in a cluster: what another machine did first, and what an older program is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.counters import lmdb_store
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess
from oborona.errors import StoreVersion
from oborona.types import Amounts, CountedPieces, Metric, Shingle, Window

NOON = 20_000 * 86_400 + 43_200.0
SPREAD = tuple(Shingle(8, tag << 56) for tag in range(256))  # one for each tag
SPAM = Amounts(seen=1, spam=1)


class Machine:
    """A worker and its sender, with an outbox of their own."""

    def __init__(self, directory: Path, access: ClusterAccess) -> None:
        self.writer = ClusterWriter(directory, access, report=lambda _line: None)
        self.worker = ClusterCounters(
            directory,
            "worker",
            access,
            environment=self.writer.environment,
            deadline_s=30.0,
            stale_s=0.0,
        )

    def settle(self) -> None:
        self.worker.flush(NOON)
        self.writer.step(NOON)

    async def seen(self, *shingles: Shingle) -> set[int]:
        rows = await self.worker.read(shingles, NOON)
        return {row[window][Metric.SEEN] for row in rows for window in Window}

    def close(self) -> None:
        self.worker.close()
        self.writer.close()


@pytest.fixture(params=[False, True], ids=["records", "door"])
def two(
    tmp_path: Path, access: ClusterAccess, request: pytest.FixtureRequest
) -> Iterator[list[Machine]]:
    made = [Machine(tmp_path / str(number), access) for number in range(2)]
    for one in made:
        one.writer._taking._doorkeeper = request.param
    yield made
    for one in made:
        one.writer.close()


async def test_machines_take_back_what_the_other_added(
    two: list[Machine], access: ClusterAccess, tmp_path: Path
) -> None:
    one, other = two
    one.worker.add(CountedPieces(shingles=SPREAD, pairs=()), SPAM, NOON)
    one.settle()
    other.worker.take_back(SPREAD, SPAM, NOON)
    assert await other.seen(*SPREAD) == {0}
    assert await one.seen(*SPREAD) == {1}
    other.settle()
    assert await one.seen(*SPREAD) == await other.seen(*SPREAD) == {0}
    other.worker.take_back(SPREAD, SPAM, NOON)  # it overtakes the add
    other.settle()
    one.worker.add(CountedPieces(shingles=SPREAD, pairs=()), Amounts(seen=3, spam=1), NOON)
    assert await one.seen(*SPREAD) == {2}
    [line] = await one.worker.timelines(SPREAD[:1], NOON)
    assert line.days[-1][Metric.SEEN] == 2
    one.settle()
    assert await other.seen(*SPREAD) == {2}
    with ClusterReader(tmp_path / "0", access, environment=one.writer.environment) as tools:
        rows = await tools.read(SPREAD, NOON)
        assert [row[Window.DAY][:2] for row in rows] == [[2, 0]] * len(SPREAD)
    for machine in two:
        machine.worker.close()


async def test_an_older_program_refuses_an_outbox_in_which_something_is_taken_back(
    tmp_path: Path, access: ClusterAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, access)
    machine.worker.add(CountedPieces(shingles=SPREAD, pairs=()), SPAM, NOON)
    machine.settle()
    with monkeypatch.context() as older:
        older.setattr(lmdb_store, "VERSION", 2)
        assert await machine.seen(*SPREAD) == {1}
        machine.close()
        ClusterWriter(tmp_path, access).close()
    machine = Machine(tmp_path, access)
    machine.worker.take_back(SPREAD, SPAM, NOON)
    machine.settle()
    machine.close()
    monkeypatch.setattr(lmdb_store, "VERSION", 2)
    with pytest.raises(StoreVersion, match="version 3, this Oborona knows 2"):
        ClusterWriter(tmp_path, access)
