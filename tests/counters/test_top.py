"""The heaviest shingles of a type, of memory and of a store, and the notes that a store keeps of
them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import pytest

from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.memory import MemoryCounters
from oborona.counters.readonly import ReadOnlyCounters, open_reader
from oborona.counters.record import KEY
from oborona.counters.store import LmdbCounters
from oborona.counters.top import HEAD, TOP_KEY, Ranks
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreError
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, UniquePair, Window
from tests.peers.redis import Cluster

from .conftest import NOON

FROM = 14
DAY = 86_400.0


class Counting(Protocol):
    """What is counted into."""

    def add(
        self, pieces: CountedPieces, amounts: Amounts, now: float, prefix: CounterPrefix = ...
    ) -> None: ...


class Subject(Counting, Protocol):
    """What is asked for its heaviest."""

    def forget(self, shingle: Shingle, now: float, prefix: CounterPrefix = ...) -> None: ...
    async def top(
        self,
        shingle_type: int,
        metric: Metric,
        window: Window,
        now: float,
        prefix: CounterPrefix = ...,
        limit: int = ...,
    ) -> Ranks: ...


W = TypeVar("W", bound=LmdbCounterWriter | ClusterWriter)


class Applied(Generic[W]):
    """Adds go all the way through spool and writer before they are asked for."""

    writer: W
    worker: LmdbCounters | ClusterCounters
    reader: ReadOnlyCounters | ClusterReader

    def add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        self.worker.add(pieces, amounts, now, prefix)

    def forget(
        self, shingle: Shingle, now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> None:
        self.worker.forget(shingle, now, prefix)

    async def top(
        self,
        shingle_type: int,
        metric: Metric,
        window: Window,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
        limit: int = 20,
    ) -> Ranks:
        self.worker.flush(now)
        while self.writer.step(now):
            pass
        self.writer.keep_top()
        return await self.reader.top(shingle_type, metric, window, now, prefix, limit)

    def close(self) -> None:
        self.reader.close()
        self.worker.close()
        self.writer.close()


class InStore(Applied[LmdbCounterWriter]):
    """In LMDB."""

    def __init__(self, directory: Path) -> None:
        self.writer = LmdbCounterWriter(directory)
        self.worker = LmdbCounters(directory, "worker-0", environment=self.writer.environment)
        self.reader = ReadOnlyCounters(LmdbReader(directory, self.writer.environment))


class InCluster(Applied[ClusterWriter]):
    """In a cluster."""

    def __init__(self, directory: Path, access: ClusterAccess) -> None:
        self.writer = ClusterWriter(directory, access)
        self.worker = ClusterCounters(
            directory, "worker-0", access, environment=self.writer.environment
        )
        self.reader = ClusterReader(directory, access, environment=self.writer.environment)


@pytest.fixture(params=["memory", "store", "cluster"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    if request.param == "memory":
        yield MemoryCounters()
        return
    if request.param == "cluster":
        cluster: Cluster = request.getfixturevalue("redis_cluster")
        for node in cluster.nodes:
            node.ask("FLUSHALL")
        access = ClusterAccess(nodes=tuple(NodeAddress(*node.address) for node in cluster.nodes))
        clustered = InCluster(tmp_path / "counters", access)
        yield clustered
        clustered.close()
        return
    stored = InStore(tmp_path / "counters")
    yield stored
    stored.close()


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[InStore]:
    made = InStore(tmp_path / "counters")
    yield made
    made.close()


def sender(hash_: int) -> Shingle:
    return Shingle(FROM, hash_)


def count(
    subject: Counting,
    hash_: int,
    amounts: Amounts,
    now: float,
    prefix: CounterPrefix = CounterPrefix.IN,
) -> None:
    subject.add(CountedPieces(shingles=(sender(hash_),), pairs=()), amounts, now, prefix)


async def test_of_nothing_there_is_no_heaviest(subject: Subject) -> None:
    assert await subject.top(FROM, Metric.SEEN, Window.DAY, NOON) == []


async def test_each_window_and_metric_has_its_own_order(subject: Subject) -> None:
    count(subject, 1, Amounts(seen=50, spam=1), NOON - 10 * DAY)
    count(subject, 2, Amounts(seen=20), NOON - 7200)
    count(subject, 3, Amounts(seen=5, spam=4), NOON - 1800)
    count(subject, 4, Amounts(seen=3), NOON)
    count(subject, 3, Amounts(seen=1), NOON)
    assert await subject.top(FROM, Metric.SEEN, Window.FORTNIGHT, NOON) == [
        (sender(1), 50),
        (sender(2), 20),
        (sender(3), 6),
        (sender(4), 3),
    ]
    assert await subject.top(FROM, Metric.SEEN, Window.DAY, NOON, limit=2) == [
        (sender(2), 20),
        (sender(3), 6),
    ]
    assert await subject.top(FROM, Metric.SEEN, Window.HOUR, NOON) == [
        (sender(3), 6),
        (sender(4), 3),
    ]
    assert await subject.top(FROM, Metric.SEEN, Window.RECENT, NOON) == [
        (sender(4), 3),
        (sender(3), 1),
    ]
    assert await subject.top(FROM, Metric.SPAM, Window.FORTNIGHT, NOON) == [
        (sender(3), 4),
        (sender(1), 1),
    ]
    assert await subject.top(FROM, Metric.TRAPS, Window.FORTNIGHT, NOON) == []


async def test_services_and_types_keep_apart(subject: Subject) -> None:
    count(subject, 1, Amounts(seen=2), NOON)
    count(subject, 2, Amounts(seen=1), NOON, CounterPrefix.OUT)
    subject.add(CountedPieces(shingles=(Shingle(15, 3),), pairs=()), Amounts(seen=9), NOON)
    assert await subject.top(FROM, Metric.SEEN, Window.DAY, NOON) == [(sender(1), 2)]
    assert await subject.top(FROM, Metric.SEEN, Window.DAY, NOON, CounterPrefix.OUT) == [
        (sender(2), 1)
    ]


async def test_equal_counts_have_an_order(subject: Subject) -> None:
    for hash_ in (9, 2**64 - 1, 5, 0):
        count(subject, hash_, Amounts(seen=7), NOON)
    ranks = await subject.top(FROM, Metric.SEEN, Window.DAY, NOON)
    assert [one.hash for one, _count in ranks] == [0, 5, 9, 2**64 - 1]


async def test_who_met_most_is_found_through_pairs(subject: Subject) -> None:
    for peer in range(5):
        pair = UniquePair(both=Shingle(30, peer), distinct=Shingle(31, peer % 2))
        subject.add(CountedPieces(shingles=(), pairs=(pair, pair)), Amounts(), NOON)
    ranks = await subject.top(31, Metric.SEEN, Window.DAY, NOON)
    assert ranks == [(Shingle(31, 0), 3), (Shingle(31, 1), 2)]


async def test_what_is_forgotten_is_not_among_them_and_may_come_back(subject: Subject) -> None:
    count(subject, 1, Amounts(seen=9), NOON)
    count(subject, 2, Amounts(seen=8), NOON)
    assert len(await subject.top(FROM, Metric.SEEN, Window.DAY, NOON)) == 2
    subject.forget(sender(1), NOON)
    assert await subject.top(FROM, Metric.SEEN, Window.DAY, NOON) == [(sender(2), 8)]
    count(subject, 1, Amounts(seen=3), NOON)
    assert await subject.top(FROM, Metric.SEEN, Window.DAY, NOON) == [
        (sender(2), 8),
        (sender(1), 3),
    ]


async def test_what_the_doorkeeper_has_counts_too(stored: InStore) -> None:
    count(stored, 1, Amounts(seen=1), NOON)
    assert await stored.top(FROM, Metric.SEEN, Window.DAY, NOON) == [(sender(1), 1)]
    with stored.writer.environment.begin() as txn:
        assert txn.get(KEY.pack(1, *sender(1))) is None, "it has no record"


async def test_the_heaviest_of_many_steps_are_those_of_a_dictionary(stored: InStore) -> None:
    """Ten times as many senders as a note has room for, and each step with its own flood of new
    ones.
    """
    generator = random.Random(11)
    exact = MemoryCounters()
    fresh = 10**6
    for step in range(60):
        now = NOON + step * 300
        for _ in range(150):
            hash_ = int(generator.paretovariate(0.9)) % 1280
            count(stored, hash_, Amounts(seen=1), now)
            count(exact, hash_, Amounts(seen=1), now)
        for _ in range(60):
            fresh += 1
            count(stored, fresh, Amounts(seen=1), now)
            count(exact, fresh, Amounts(seen=1), now)
        stored.worker.flush(now)
        stored.writer.step(now)
    now = NOON + 59 * 300
    for window in Window:
        ranks = await stored.top(FROM, Metric.SEEN, window, now, limit=20)
        assert ranks[:8] == (await exact.top(FROM, Metric.SEEN, window, now))[:8], window


async def test_notes_outlive_the_writer(tmp_path: Path) -> None:
    first = InStore(tmp_path)
    count(first, 1, Amounts(seen=9), NOON)
    count(first, 2, Amounts(complaints=3), NOON)
    await first.top(FROM, Metric.SEEN, Window.DAY, NOON)
    first.close()
    second = InStore(tmp_path)
    count(second, 3, Amounts(seen=4), NOON)
    assert await second.top(FROM, Metric.SEEN, Window.DAY, NOON) == [(sender(1), 9), (sender(3), 4)]
    assert await second.top(FROM, Metric.COMPLAINTS, Window.DAY, NOON) == [(sender(2), 3)]
    second.close()


async def test_run_writes_the_notes_before_it_ends(tmp_path: Path) -> None:
    import threading
    import time

    now = time.time()
    worker = LmdbCounters(tmp_path, "worker-0")
    count(worker, 1, Amounts(seen=2), now)
    worker.close()
    writer = LmdbCounterWriter(tmp_path)
    stop = threading.Event()
    stop.set()
    writer.run(stop)
    writer.close()
    with open_reader(tmp_path) as store:
        assert await store.top(FROM, Metric.SEEN, Window.FORTNIGHT, now) == [(sender(1), 2)]


async def test_a_note_of_what_is_forgotten_goes(stored: InStore) -> None:
    count(stored, 1, Amounts(seen=1, spam=1), NOON)
    await stored.top(FROM, Metric.SEEN, Window.DAY, NOON)
    stored.forget(sender(1), NOON)
    await stored.top(FROM, Metric.SEEN, Window.DAY, NOON)
    with stored.writer.environment.begin() as txn, txn.cursor() as cursor:
        assert not (cursor.set_range(TOP_KEY) and cursor.key().startswith(TOP_KEY))


async def test_nothing_is_written_when_nothing_changed(stored: InStore) -> None:
    count(stored, 1, Amounts(seen=1), NOON)
    await stored.top(FROM, Metric.SEEN, Window.DAY, NOON)
    before = stored.writer.environment.info()["last_txnid"]
    stored.writer.keep_top()
    assert stored.writer.environment.info()["last_txnid"] == before


async def test_a_damaged_note_is_said_and_the_others_go_on(tmp_path: Path) -> None:
    first = InStore(tmp_path)
    count(first, 1, Amounts(seen=9, spam=8), NOON)
    await first.top(FROM, Metric.SEEN, Window.DAY, NOON)
    damaged = TOP_KEY + HEAD.pack(1 << 8 | FROM, Metric.SEEN)
    with first.writer.environment.begin(write=True) as txn:
        txn.put(damaged, txn.get(damaged, b"")[:-1])
        txn.put(TOP_KEY + b"?", b"nonsense")
    with pytest.raises(StoreError, match="no note"):
        await first.reader.top(FROM, Metric.SEEN, Window.DAY, NOON)
    problems = first.writer.verify().problems
    assert [problem.split(":")[0] for problem in problems] == sorted(
        [damaged.hex(), (TOP_KEY + b"?").hex()]
    )
    first.close()
    reports: list[str] = []
    writer = LmdbCounterWriter(tmp_path, report=reports.append)
    worker = LmdbCounters(tmp_path, "worker-1", environment=writer.environment)
    count(worker, 2, Amounts(seen=1), NOON)
    worker.flush(NOON)
    writer.step(NOON)
    writer.keep_top()
    assert len([report for report in reports if "begin anew" in report]) == 2
    stored = ReadOnlyCounters(LmdbReader(tmp_path, writer.environment))
    assert await stored.top(FROM, Metric.SPAM, Window.DAY, NOON) == [(sender(1), 8)]
    assert await stored.top(FROM, Metric.SEEN, Window.DAY, NOON) == [(sender(2), 1)]
    assert writer.verify().clean
    worker.close()
    writer.close()
