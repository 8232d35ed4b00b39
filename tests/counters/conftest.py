"""Counters under test: in memory, and in LMDB at each stage of an add's way into the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.counters.store import LmdbCounters
from oborona.counters.window import Timeline
from oborona.counters.writer import CounterWriter
from oborona.policy.ports import Counters
from oborona.types import Prefix, Shingle

NOON = 20_000 * 86_400 + 43_200.0  # a Tuesday; far from every border


class Subject(Counters, Protocol):
    """What the policy asks of a store, and `settle`: whatever brings adds one stage on."""

    async def timeline(self, shingle: Shingle, now: float, prefix: Prefix = ...) -> Timeline: ...
    def settle(self, now: float) -> None: ...


class InMemory(MemoryCounters):
    def settle(self, now: float) -> None:
        pass


class InLmdb(LmdbCounters):
    """`stage` says how far `settle` brings adds: buffered, flushed or applied."""

    def __init__(self, directory: Path, stage: str) -> None:
        self.writer = CounterWriter(directory)
        super().__init__(directory, "worker-0", environment=self.writer.environment)
        self.stage = stage

    def settle(self, now: float) -> None:
        if self.stage != "buffered":
            self.flush(now)
        if self.stage == "applied":
            self.writer.step(now)

    def close(self) -> None:
        super().close()
        self.writer.close()


@pytest.fixture(params=["memory", "buffered", "flushed", "applied"])
def counters(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    if request.param == "memory":
        yield InMemory()
        return
    stored = InLmdb(tmp_path, request.param)
    yield stored
    stored.close()


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def writer(tmp_path: Path, reports: list[str]) -> Iterator[CounterWriter]:
    made = CounterWriter(tmp_path / "counters", report=reports.append)
    yield made
    made.close()
