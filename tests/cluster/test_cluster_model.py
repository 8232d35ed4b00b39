"""Random life of a sender and its cluster against a dictionary that is obviously right.

The invariant: whatever is added, flushed, sent, forgotten, cut off by a crash of worker or sender
at any point, sent without an answer, or lost by a shard that falls back to what it was, in any
order: a read gives what a memory store gives that got the same adds and take-backs, and of those
that cancel each other none; minus, after a crash of a worker, what it had not flushed. After a
shard has fallen back this holds once the sender has asked what it has.
"""

from __future__ import annotations

import asyncio
import copy
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from oborona.counters.cluster.blocking_client import BlockingClusterClient, Command
from oborona.counters.cluster.delivery import OutboxDelivery
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess, Reply
from oborona.counters.memory import MemoryCounters
from oborona.errors import StoreError
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle, UniquePair
from tests.peers.redis import Cluster

FIRST_BITS = [0, 0x7A5 << 52, 0xFFF << 52]
SHINGLES = [
    Shingle(kind, first + number) for kind in (1, 75) for first in FIRST_BITS for number in (0, 7)
]
PAIRS = [
    UniquePair(both=Shingle(30, first + 10 * sender + to), distinct=Shingle(31, first + sender))
    for first in FIRST_BITS[1:]
    for sender in (1, 2)
    for to in (1, 2)
]
UNDONE = [
    Shingle(9, first + 7) for first in FIRST_BITS
]  # that take-backs are tried on: no sum of theirs is saturated
ASKED = [*SHINGLES, *UNDONE, *dict.fromkeys(shingle for pair in PAIRS for shingle in pair)]
PREFIXES = [CounterPrefix.IN, CounterPrefix.OUT, CounterPrefix.DELETED]
START = 19_990 * 86_400 + 80_000.0
BACK_S = 3_000.0

amounts = st.one_of(
    st.just(Amounts(seen=1)),
    st.builds(Amounts, *[st.integers(0, 300)] * 6),
    st.builds(Amounts, *[st.sampled_from([0, 1, 127, 128, 2**14, 2**32, 2**62, 2**63 - 1])] * 6),
)
few = st.one_of(
    st.just(Amounts(seen=1)), st.builds(Amounts, *[st.sampled_from([0, 0, 1, 5, 128, 2**40])] * 6)
)
somebody = st.builds(
    CountedPieces,
    shingles=st.lists(st.sampled_from(SHINGLES), unique=True, max_size=4).map(tuple),
    pairs=st.lists(st.sampled_from(PAIRS), max_size=3).map(tuple),
)


class Deaf(BlockingClusterClient):
    """Everything is sent and done, and no answer arrives."""

    def ask(self, commands: Sequence[Command]) -> list[Reply]:
        return [StoreError("the answer was lost") for _ in super().ask(commands)]


class Life(RuleBasedStateMachine):
    cluster: Cluster
    access: ClusterAccess

    @initialize(doorkeeper=st.booleans())
    def open(self, doorkeeper: bool) -> None:
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp(dir="/tmp", prefix="oborona-cluster-"))
        self.reports: list[str] = []
        self.now = self.latest = START
        self.model = MemoryCounters()  # all adds that count
        self.flushed = MemoryCounters()  # of these, what a crash of the worker leaves
        for node in self.cluster.nodes:
            node.ask("FLUSHALL")
        self.writer = self.new_writer(doorkeeper=doorkeeper)
        self.worker = self.new_worker()

    def new_writer(self, *, doorkeeper: bool) -> ClusterWriter:
        return ClusterWriter(
            self.directory,
            self.access,
            sync=False,
            retain_s=3_600.0,
            doorkeeper=doorkeeper,
            report=self.reports.append,
        )

    def new_worker(self) -> ClusterCounters:
        return ClusterCounters(
            self.directory,
            "worker",
            self.access,
            environment=self.writer.environment,
            deadline_s=30.0,
            durability="none",
            file_bytes=2_000,
        )

    @rule(
        pieces=somebody,
        amounts=amounts,
        prefix=st.sampled_from(PREFIXES),
        late=st.sampled_from([0, 0, 0, 700, 90_000]),
    )
    def add(
        self, pieces: CountedPieces, amounts: Amounts, prefix: CounterPrefix, late: float
    ) -> None:
        for counters in (self.model, self.worker):
            counters.add(pieces, amounts, self.now - late, prefix)

    @rule(pieces=somebody, times=st.integers(10, 30), apart=st.sampled_from([0.0, 601.0, 20_000.0]))
    def add_often(self, pieces: CountedPieces, times: int, apart: float) -> None:
        for _ in range(times):
            self.move(apart)
            for counters in (self.model, self.worker):
                counters.add(pieces, Amounts(seen=1), self.now)
            if apart:
                self.flush()
                self.step()

    @rule(shingle=st.sampled_from(SHINGLES), prefix=st.sampled_from(PREFIXES))
    def forget(self, shingle: Shingle, prefix: CounterPrefix) -> None:
        for counters in (self.model, self.worker):
            counters.forget(shingle, self.now, prefix)
        self.flush()

    @rule(
        seconds=st.sampled_from(
            [1.0, 600.0, 3_600.0, 43_000.0, 86_400.0, 5 * 86_400.0, 40 * 86_400.0]
        )
    )
    def move(self, seconds: float) -> None:
        self.now += seconds
        self.latest = max(self.latest, self.now)

    @rule(seconds=st.floats(0, BACK_S))
    def set_back(self, seconds: float) -> None:
        self.now = max(self.now - seconds, self.latest - BACK_S)

    @rule(
        undone=st.lists(st.sampled_from(UNDONE), unique=True, min_size=1).map(tuple),
        amounts=few,
        prefix=st.sampled_from(PREFIXES),
        late=st.sampled_from([0, 0, 700, 90_000, 5 * 86_400]),
        taken=st.booleans(),
    )
    def add_or_take_back(
        self,
        undone: tuple[Shingle, ...],
        amounts: Amounts,
        prefix: CounterPrefix,
        late: float,
        taken: bool,
    ) -> None:
        """One without the other, perhaps for ever."""
        for counters in (self.model, self.worker):
            if taken:
                counters.take_back(undone, amounts, self.now - late, prefix)
            else:
                counters.add(
                    CountedPieces(shingles=undone, pairs=()), amounts, self.now - late, prefix
                )

    @rule(
        undone=st.lists(st.sampled_from(UNDONE), unique=True, min_size=1).map(tuple),
        amounts=few,
        taken_first=st.booleans(),
        between=st.sampled_from(["nothing", "flush", "step", "day"]),
    )
    def add_and_take_back(
        self, undone: tuple[Shingle, ...], amounts: Amounts, taken_first: bool, between: str
    ) -> None:
        """Nothing of it reaches the model: it is as if it had never been."""
        at = self.now
        for taken in (taken_first, not taken_first):
            if taken:
                self.worker.take_back(undone, amounts, at)
            else:
                self.worker.add(CountedPieces(shingles=undone, pairs=()), amounts, at)
            if between != "nothing":
                self.flush()
            if between in ("step", "day"):
                self.step()
            if between == "day":
                self.move(86_400.0)
        self.flush()

    @rule()
    def flush(self) -> None:
        self.worker.flush(self.now)
        self.flushed = copy.deepcopy(self.model)

    @rule()
    def step(self) -> None:
        self.writer.step(self.now)

    @rule()
    def check(self) -> None:
        self.writer.check()

    @rule(torn=st.booleans())
    def kill_worker(self, torn: bool) -> None:
        """What was flushed stays; what was being written as it died is half there."""
        self.model = copy.deepcopy(self.flushed)
        self.worker._nodes.close()
        descriptor = self.worker._spool._descriptor
        if descriptor >= 0:
            os.close(descriptor)
        names = sorted(path for path in (self.directory / "spool").glob("*.spool")) if torn else []
        if names:
            with names[-1].open("ab") as spool:
                spool.write(b"OBSP\1\0\1\0\xff\0\0\0what was cut")
        self.worker = self.new_worker()
        self.writer.step(self.now)  # the new one sees the old one's adds when they are applied

    @rule(after=st.sampled_from(["nothing", "taking", "sending"]), doorkeeper=st.booleans())
    def kill_writer(self, after: str, doorkeeper: bool) -> None:
        """Files and locks are let go as the kernel would; nothing is written.

        The next one may be set otherwise.
        """
        if after != "nothing":
            self.writer._taking.take(self.now)
        if after == "sending":
            OutboxDelivery(
                self.writer._outbox, self.writer._shards, 0.0, self.reports.append
            ).send()
        self.writer.close()
        self.writer = self.new_writer(doorkeeper=doorkeeper)
        self.worker._reader._environment = self.writer.environment

    @rule()
    def lose_answers(self) -> None:
        self.writer._taking.take(self.now)
        deaf = Deaf(self.access)
        OutboxDelivery(self.writer._outbox, deaf, 0.0, self.reports.append).send()
        deaf.close()

    @rule(
        which=st.integers(0, 2),
        steps=st.lists(somebody, min_size=1, max_size=3),
        asked=st.booleans(),
    )
    def shard_falls_back(self, which: int, steps: list[CountedPieces], asked: bool) -> None:
        """It acknowledges some steps, and then a replica takes its place that never got them."""
        node = self.cluster.nodes[which]
        names = node.ask("KEYS", "*")
        assert isinstance(names, list)
        kept = {name: node.ask("DUMP", name) for name in names}
        for pieces in steps:
            self.add(pieces, Amounts(seen=1), CounterPrefix.IN, 0.0)
            self.flush()
            self.step()
        node.ask("FLUSHALL")
        for name, value in kept.items():
            node.ask("RESTORE", name, 0, str(value))
        self.worker._recent.clear()  # it is longer ago than any answer serves
        if not asked:  # what comes next tells it, too
            self.add(
                CountedPieces(shingles=tuple(SHINGLES), pairs=()),
                Amounts(seen=1),
                CounterPrefix.IN,
                0.0,
            )
            self.flush()
            self.step()
        self.writer.check()
        self.step()

    @invariant()
    def reads_are_right(self) -> None:
        if not hasattr(self, "worker"):
            return
        for prefix in PREFIXES:
            stored = self.runner.run(self.worker.read(ASKED, self.now, prefix))
            assert stored == self.runner.run(self.model.read(ASKED, self.now, prefix))
        for shingle in (SHINGLES[0], UNDONE[0], PAIRS[0].distinct):
            line = self.runner.run(self.worker.timelines([shingle], self.now))
            assert line == self.runner.run(self.model.timelines([shingle], self.now))

    @rule()
    def nothing_is_reported(self) -> None:
        expected = ("cut short", "may now grow", "sent again")
        assert [line for line in self.reports if not any(part in line for part in expected)] == []

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        with ExitStack() as ending:  # whatever fails on the way, no loop and no process is left
            ending.callback(shutil.rmtree, self.directory)
            ending.callback(self.runner.close)
            if not hasattr(self, "worker"):
                return
            ending.callback(self.writer.close)
            ending.callback(lambda: self.runner.run(self.hang_up()))
            self.flush()
            self.step()
            self.reads_are_right()
            self.nothing_is_reported()

    async def hang_up(self) -> None:
        self.worker.close()


@pytest.mark.slow
def test_life(three_primaries: Cluster, access: ClusterAccess) -> None:
    Life.cluster, Life.access = three_primaries, access
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
