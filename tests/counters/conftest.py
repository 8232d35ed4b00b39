"""Counters under test: in memory, and in LMDB at each stage of an add's way into the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
from oborona.counters.memory import MemoryCounters
from oborona.counters.store import LmdbCounters
from oborona.counters.window import Timeline
from oborona.counters.writer import LmdbCounterWriter
from oborona.policy.ports import CounterCorrector, CounterStore, Totals
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle
from tests.peers.redis import PATIENT, Cluster

NOON = 20_000 * 86_400 + 43_200.0  # a Tuesday; far from every border


class Subject(CounterStore, CounterCorrector, Protocol):
    """A store, what people ask of it, and `settle`: whatever brings adds one stage on."""

    async def read_add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> Totals: ...
    def forget(
        self, shingle: Shingle, now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> None: ...
    def settle(self, now: float) -> None: ...


class InMemory(MemoryCounters):
    def settle(self, now: float) -> None:
        pass


class InLmdb(LmdbCounters):
    """`stage` says how far `settle` brings adds: buffered, flushed, applied to records or by way of
    the doorkeeper.
    """

    def __init__(self, directory: Path, stage: str) -> None:
        self.writer = LmdbCounterWriter(
            directory, doorkeeper_bytes=1 << 16 if stage == "doorkept" else 0
        )
        super().__init__(directory, "worker-0", environment=self.writer.environment)
        self.stage = stage

    def settle(self, now: float) -> None:
        if self.stage != "buffered":
            self.flush(now)
        if self.stage in ("applied", "doorkept"):
            self.writer.step(now)

    def close(self) -> None:
        super().close()
        self.writer.close()


class InCluster(ClusterCounters):
    """`settle` brings adds through spool and outbox into the cluster.

    Nothing stays connected between two reads.
    """

    def __init__(self, directory: Path, access: ClusterAccess, *, doorkeeper: bool) -> None:
        self.writer = ClusterWriter(directory, access, doorkeeper=doorkeeper)
        super().__init__(
            directory, "worker-0", access, deadline_s=30.0, environment=self.writer.environment
        )

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[list[list[int]]]:
        try:
            return await super().read(shingles, now, prefix)
        finally:
            self._nodes.close()

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        try:
            return await super().timelines(shingles, now, prefix)
        finally:
            self._nodes.close()

    def settle(self, now: float) -> None:
        self.flush(now)
        self.writer.step(now)

    def close(self) -> None:
        super().close()
        self.writer.close()


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[Cluster]:
    """Three primaries; who uses them empties them first."""
    with Cluster(replicas=0, settings=PATIENT) as cluster:
        yield cluster


@pytest.fixture(
    params=["memory", "buffered", "flushed", "applied", "doorkept", "sent", "sent doorkept"]
)
def counters(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    if request.param == "memory":
        yield InMemory()
        return
    if request.param.startswith("sent"):
        cluster: Cluster = request.getfixturevalue("redis_cluster")
        for node in cluster.nodes:
            node.ask("FLUSHALL")
        access = ClusterAccess(
            nodes=tuple(NodeAddress(*node.address) for node in cluster.nodes), connect_s=20.0
        )
        sent = InCluster(tmp_path, access, doorkeeper=request.param == "sent doorkept")
        yield sent
        sent.close()
        return
    stored = InLmdb(tmp_path, request.param)
    yield stored
    stored.close()


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def writer(tmp_path: Path, reports: list[str]) -> Iterator[LmdbCounterWriter]:
    made = LmdbCounterWriter(tmp_path / "counters", doorkeeper_bytes=0, report=reports.append)
    yield made
    made.close()
