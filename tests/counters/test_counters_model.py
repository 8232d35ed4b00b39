"""Random life of a store against a dictionary that is obviously right.

The invariant: whatever is added, flushed, applied, purged, cut off by a crash and opened again, in
any order, a read gives what a memory store gives that got the same adds and take-backs, and of
those that cancel each other none; minus, after a crash of a worker, what it had not flushed. The
clock runs on by anything up to days, and back by less than an hour in all.
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oborona.counters.memory import MemoryCounters
from oborona.counters.spool import parse_name
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle, UniquePair

SHINGLES = [Shingle(kind, number) for kind in (1, 75) for number in (0, 7, 2**64 - 1)]
PAIRS = [
    UniquePair(both=Shingle(30, 10 * sender + to), distinct=Shingle(31, sender))
    for sender in (1, 2)
    for to in (1, 2)
]
# that take-backs are tried on: no sum of theirs is ever saturated
UNDONE = [Shingle(9, 0), Shingle(9, 7)]
ASKED = [*SHINGLES, *UNDONE, *{shingle for pair in PAIRS for shingle in pair}]
PREFIXES = [CounterPrefix.IN, CounterPrefix.OUT, CounterPrefix.DELETED]
START = 19_990 * 86_400 + 80_000.0
BACK_S = 3_000.0
EXPECTED = (
    "may now grow",
    "cut short",
    "all of it is read first",  # of a writer that was killed again and again
    "s behind; the spools keep",  # when the clock runs on between flush and step
    "counting has caught up",
)

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


Value = TypeVar("Value")


def value_of(reading: Coroutine[None, None, Value]) -> Value:
    """Run what never waits, without a loop."""
    try:
        reading.send(None)
    except StopIteration as ended:
        return cast(Value, ended.value)
    raise AssertionError("a read waited")


class Life(RuleBasedStateMachine):
    @initialize(doorkeeper_bytes=st.sampled_from([0, 1 << 16]))
    def open(self, doorkeeper_bytes: int) -> None:
        self.doorkeeper_bytes = doorkeeper_bytes
        self.directory = Path(tempfile.mkdtemp(dir="/tmp", prefix="oborona-counters-"))
        self.reports: list[str] = []
        self.now = self.latest = START
        self.model = MemoryCounters()  # all adds that count
        self.flushed = MemoryCounters()  # of these, what a crash of the worker leaves
        self.writer = self.new_writer()
        self.worker = self.new_worker()

    def new_writer(self) -> LmdbCounterWriter:
        return LmdbCounterWriter(
            self.directory,
            report=self.reports.append,
            map_bytes=1 << 16,
            doorkeeper_bytes=self.doorkeeper_bytes,
        )

    def new_worker(self) -> LmdbCounters:
        return LmdbCounters(
            self.directory,
            "worker",
            environment=self.writer.environment,
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

    @rule(
        pieces=somebody,
        times=st.integers(100, 300),
        apart=st.sampled_from([0.0, 601.0, 20_000.0]),
    )
    def add_often(self, pieces: CountedPieces, times: int, apart: float) -> None:
        for _ in range(times if not apart else times // 10):
            self.move(apart)
            for counters in (self.model, self.worker):
                counters.add(pieces, Amounts(seen=1), self.now)
            if apart:
                self.flush()
                self.step()

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

    @rule(shingle=st.sampled_from(ASKED), prefix=st.sampled_from(PREFIXES))
    def forget(self, shingle: Shingle, prefix: CounterPrefix) -> None:
        """What was counted before it is flushed first, so that both keep their order."""
        self.flush()
        for counters in (self.model, self.worker):
            counters.forget(shingle, self.now, prefix)

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

    @rule(limit=st.integers(1, 20))
    def purge(self, limit: int) -> None:
        self.writer.purge(self.now, limit)

    @rule(torn=st.booleans())
    def kill_worker(self, torn: bool) -> None:
        """What was flushed stays; what was being written as it died is half there."""
        self.model = copy.deepcopy(self.flushed)
        descriptor = self.worker._spool._descriptor
        if descriptor >= 0:
            os.close(descriptor)
        names = sorted(path for path in (self.directory / "spool").glob("*.spool")) if torn else []
        if names:
            with names[-1].open("ab") as spool:
                spool.write(b"OBSP\1\0\1\0\xff\0\0\0what was cut")
        self.worker = self.new_worker()
        self.writer.step(self.now)  # the new one sees the old one's adds when they are applied

    @rule()
    def kill_writer(self) -> None:
        """LMDB and the lock are let go as the kernel would; nothing is written."""
        self.writer._follower.close()
        self.writer.environment.close()
        self.writer._lock.release()
        self.writer = self.new_writer()
        self.worker._reader._environment = self.writer.environment

    @invariant()
    def reads_are_right(self) -> None:
        if not hasattr(self, "worker"):
            return
        for prefix in PREFIXES:
            stored = value_of(self.worker.read(ASKED, self.now, prefix))
            assert stored == value_of(self.model.read(ASKED, self.now, prefix))
        for shingle in (SHINGLES[0], UNDONE[0], PAIRS[0].distinct):
            stored_line = value_of(self.worker.timelines([shingle], self.now))
            assert stored_line == value_of(self.model.timelines([shingle], self.now))

    @precondition(lambda self: hasattr(self, "writer"))
    @rule()
    def store_is_sound(self) -> None:
        assert self.writer.verify().problems == []
        unexpected = [line for line in self.reports if not any(said in line for said in EXPECTED)]
        assert unexpected == []
        assert all(parse_name(path.name) for path in (self.directory / "spool").glob("*"))

    def teardown(self) -> None:
        if hasattr(self, "worker"):
            self.worker.flush(self.now)
            self.writer.step(self.now)
            self.reads_are_right()
            self.store_is_sound()
            self.worker.close()
            self.writer.close()
            shutil.rmtree(self.directory)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
