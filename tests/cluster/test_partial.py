"""What a worker and its sender do while the cluster, or a part of it, does not answer."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import hiredis
import pytest

from oborona.counters.cluster.layout import SLOT_OF_TAG, tag_of
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
from oborona.counters.record import key_of
from oborona.errors import StoreError, StorePartial, StoreVersion
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, Window
from tests.peers.redis import Cluster, Node

NOON = 20_000 * 86_400 + 43_200.0
ONE = Amounts(seen=1)
SPREAD = [Shingle(8, tag << 56) for tag in range(256)]  # one for each tag


def pieces(*shingles: Shingle) -> CountedPieces:
    return CountedPieces(shingles=shingles, pairs=())


def seen(totals: list[list[list[int]]]) -> list[int]:
    return [one[Window.DAY][Metric.SEEN] for one in totals]


def node_of(cluster: Cluster, shingle: Shingle) -> Node:
    return cluster.primary_of(SLOT_OF_TAG[tag_of(key_of(shingle, CounterPrefix.IN))])


@pytest.fixture
def writer(tmp_path: Path, access: ClusterAccess, reports: list[str]) -> Iterator[ClusterWriter]:
    made = ClusterWriter(tmp_path, access, report=reports.append)
    yield made
    made.close()


def worker_of(
    directory: Path, writer: ClusterWriter, access: ClusterAccess, deadline_s: float
) -> ClusterCounters:
    return ClusterCounters(
        directory,
        "worker",
        access,
        environment=writer.environment,
        deadline_s=deadline_s,
        stale_s=0.0,
    )


def stop(node: Node) -> None:
    assert node.process is not None
    os.kill(node.process.pid, signal.SIGSTOP)


def go_on(node: Node) -> None:
    assert node.process is not None
    os.kill(node.process.pid, signal.SIGCONT)


async def test_a_silent_shard_leaves_what_the_others_say_and_what_is_known(
    cluster: Cluster, access: ClusterAccess, writer: ClusterWriter, tmp_path: Path
) -> None:
    other = worker_of(tmp_path, writer, access, 1.0)
    other.add(pieces(*SPREAD), ONE, NOON)
    other.flush(NOON)
    other.close()
    writer.step(NOON)
    worker = worker_of(tmp_path, writer, access, 1.0)
    silent = node_of(cluster, SPREAD[0])
    theirs = [node_of(cluster, shingle) is silent for shingle in SPREAD]
    remembered = theirs.index(True)
    assert seen(await worker.read([SPREAD[remembered]], NOON)) == [1]
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    stop(silent)
    try:
        with pytest.raises(StorePartial, match="is silent") as caught:
            await worker.read(SPREAD, NOON)
        expected = [1 if silent_one else 2 for silent_one in theirs]
        expected[remembered] = 2
        assert seen(caught.value.totals) == expected
        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(StorePartial):
                await worker.read(SPREAD, NOON)
        assert time.monotonic() - began < 10.0  # one deadline each would be twice that
        with pytest.raises(StoreError, match="does not answer"):
            await worker.timelines([SPREAD[0]], NOON)
    finally:
        go_on(silent)
    for _ in range(100):
        try:
            assert seen(await worker.read(SPREAD, NOON)) == [2] * len(SPREAD)
            break
        except StorePartial:
            time.sleep(0.05)
    else:
        pytest.fail("it never was whole again")
    worker.close()


async def test_a_cluster_that_is_nowhere_leaves_a_workers_own_adds(
    writer: ClusterWriter, access: ClusterAccess, tmp_path: Path
) -> None:
    nowhere = ClusterAccess(nodes=(access.nodes[0]._replace(port=1),))
    worker = worker_of(tmp_path, writer, nowhere, 1.0)
    worker.add(pieces(*SPREAD), ONE, NOON)
    for _ in range(2):
        with pytest.raises(StorePartial, match="cannot reach") as caught:
            await worker.read(SPREAD, NOON)
        assert seen(caught.value.totals) == [1] * len(SPREAD)
    worker.close()


async def test_flushes_wait_until_the_cluster_is_back(
    cluster: Cluster,
    access: ClusterAccess,
    tmp_path: Path,
    reports: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("oborona.counters.cluster.delivery.PATIENCE_S", 0.0)
    nowhere = ClusterAccess(nodes=(access.nodes[0]._replace(port=1),))
    writer = ClusterWriter(tmp_path, nowhere, report=reports.append)
    worker = worker_of(tmp_path, writer, access, 30.0)
    for _ in range(5):
        worker.add(pieces(*SPREAD), ONE, NOON)
        worker.flush(NOON)
        writer.step(NOON)
    assert len(reports) == 1
    assert "counts wait for the cluster: cannot reach" in reports[0]
    writer.close()
    writer = ClusterWriter(tmp_path, access, report=reports.append)
    writer.step(NOON)
    other = ClusterCounters(tmp_path / "other", "other", access, deadline_s=30.0)
    assert seen(await other.read(SPREAD, NOON)) == [5] * len(SPREAD)
    other.close()
    worker.close()
    writer.close()


async def test_with_a_full_outbox_flushes_wait_in_the_spools(
    access: ClusterAccess, tmp_path: Path
) -> None:
    nowhere = ClusterAccess(nodes=(access.nodes[0]._replace(port=1),))
    writer = ClusterWriter(tmp_path, nowhere, outbox_bytes=1)
    worker = worker_of(tmp_path, writer, access, 30.0)
    taken = []
    for _ in range(3):
        worker.add(pieces(*SPREAD), ONE, NOON)
        worker.flush(NOON)
        taken.append(writer.step(NOON))
    assert taken == [1, 0, 0]
    worker.close()
    writer.close()


async def test_steps_are_dropped_once_the_cluster_had_them_for_long_enough(
    access: ClusterAccess, tmp_path: Path
) -> None:
    for retain_s, kept in ((3_600.0, True), (0.0, False)):
        directory = tmp_path / str(kept)
        writer = ClusterWriter(directory, access, retain_s=retain_s)
        worker = worker_of(directory, writer, access, 30.0)
        worker.add(pieces(*SPREAD), ONE, NOON)
        worker.flush(NOON)
        writer.step(NOON)
        writer.check()
        assert bool(writer.waiting) is kept
        worker.close()
        writer.close()


async def test_a_shard_that_lost_everything_is_told_and_goes_on(
    cluster: Cluster, access: ClusterAccess, tmp_path: Path, reports: list[str]
) -> None:
    writer = ClusterWriter(tmp_path, access, retain_s=0.0, report=reports.append)
    worker = worker_of(tmp_path, writer, access, 30.0)
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    writer.check()
    empty = node_of(cluster, SPREAD[0])
    theirs = [node_of(cluster, shingle) is empty for shingle in SPREAD]
    empty.ask("FLUSHALL")
    for _ in range(3):
        writer.check()
        writer.step(NOON)
    assert [line for line in reports if "are not kept any more" in line] == [
        (
            f"the cluster lost counts of {sum(theirs)} of 256 parts that it had, and they are "
            f"not kept any more"
        )
    ]
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    assert seen(await worker.read(SPREAD, NOON)) == [1 if empty_one else 2 for empty_one in theirs]
    assert len([line for line in reports if "are not kept any more" in line]) == 1
    worker.close()
    writer.close()


async def test_an_old_copy_of_the_outbox_is_refused(access: ClusterAccess, tmp_path: Path) -> None:
    writer = ClusterWriter(tmp_path, access)
    worker = worker_of(tmp_path, writer, access, 30.0)
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    worker.close()
    writer.close()
    shutil.copytree(tmp_path / "outbox", tmp_path / "copy")
    for _again in range(2):
        writer = ClusterWriter(tmp_path, access)
        worker = worker_of(tmp_path, writer, access, 30.0)
        worker.add(pieces(*SPREAD), ONE, NOON)
        worker.flush(NOON)
        writer.step(NOON)
        worker.close()
        writer.close()
    shutil.rmtree(tmp_path / "outbox")
    (tmp_path / "copy").rename(tmp_path / "outbox")
    writer = ClusterWriter(tmp_path, access)
    with pytest.raises(StoreError, match="an old copy of it"):
        writer.check()
    writer.close()


async def test_with_a_damaged_outbox_nothing_is_counted_twice(
    access: ClusterAccess, tmp_path: Path, reports: list[str]
) -> None:
    writer = ClusterWriter(tmp_path, access, report=reports.append)
    worker = worker_of(tmp_path, writer, access, 30.0)
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    writer.close()
    with (tmp_path / "outbox" / "data.mdb").open("r+b") as file:
        file.write(bytes(8192))
    writer = ClusterWriter(tmp_path, access, report=reports.append)
    assert (
        "1 flushes in the spools are passed over: some of them may have been sent before" in reports
    )
    worker._reader._environment = writer.environment
    assert seen(await worker.read(SPREAD, NOON)) == [1] * len(SPREAD)
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    assert writer.step(NOON) == 1
    assert seen(await worker.read(SPREAD, NOON)) == [2] * len(SPREAD)
    worker.close()
    writer.close()


async def test_functions_of_a_newer_oborona_are_refused(
    cluster: Cluster, access: ClusterAccess, writer: ClusterWriter, tmp_path: Path
) -> None:
    worker = worker_of(tmp_path, writer, access, 30.0)
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    newer = (
        "#!lua name=oborona_counters_999\nredis.register_function('oborona_add_999', "
        "function() end)"
    )
    for node in cluster.nodes:
        node.ask("FUNCTION", "FLUSH")
        node.ask("FUNCTION", "LOAD", newer)
    try:
        with pytest.raises(StoreVersion, match="version 999"):
            writer.step(NOON)
    finally:
        for node in cluster.nodes:
            node.ask("FUNCTION", "FLUSH")
    writer.step(NOON)
    assert seen(await worker.read(SPREAD, NOON)) == [1] * len(SPREAD)
    worker.close()


async def test_functions_of_an_older_oborona_are_taken_out(
    cluster: Cluster, access: ClusterAccess, writer: ClusterWriter, tmp_path: Path
) -> None:
    older = (
        "#!lua name=oborona_counters_1\nredis.register_function('oborona_add_1', function() end)"
    )
    for node in cluster.nodes:
        node.ask("FUNCTION", "FLUSH")
        node.ask("FUNCTION", "LOAD", older)
    worker = worker_of(tmp_path, writer, access, 30.0)
    worker.add(pieces(*SPREAD), ONE, NOON)
    worker.flush(NOON)
    writer.step(NOON)
    assert seen(await worker.read(SPREAD, NOON)) == [1] * len(SPREAD)
    for node in cluster.nodes:
        assert isinstance(node.ask("FCALL", "oborona_add_1", 0), hiredis.ReplyError)
    worker.close()


async def test_a_redis_that_is_no_cluster_and_asks_for_a_password(tmp_path: Path) -> None:
    root = tmp_path / "redis"
    root.mkdir()
    node = Node(root, cluster=False, settings={"requirepass": "a word"})
    node.start(password="a word")
    try:
        one = ClusterAccess(nodes=(NodeAddress(*node.address),))
        for access, right in (
            (one, False),
            (ClusterAccess(nodes=one.nodes, password="a word"), True),
        ):
            directory = tmp_path / str(right)
            writer = ClusterWriter(directory, access)
            worker = worker_of(directory, writer, access, 30.0)
            worker.add(pieces(*SPREAD), ONE, NOON)
            worker.flush(NOON)
            writer.step(NOON)
            if right:
                assert seen(await worker.read(SPREAD, NOON)) == [1] * len(SPREAD)
            else:
                with pytest.raises(StorePartial):
                    await worker.read(SPREAD, NOON)
            worker.close()
            writer.close()
    finally:
        node.kill()
