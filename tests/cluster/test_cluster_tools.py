"""The tools around the counters, when these are in a cluster."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.counters.cluster.layout import SLOT_OF_TAG, SLOTS, tag_of
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess
from oborona.counters.record import key_of
from oborona.desk.shingle import name_of
from oborona.errors import StorePartial
from oborona.message.shingles import ShingleType
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, Window
from tests.peers.ports import free_port
from tests.peers.redis import Cluster, Node

SENDERS = [Shingle(ShingleType.FROM, number * 0x33 << 56 | 0xABC) for number in range(5)]
LETTER = b"From: Ann <ann@a.example>\r\nSubject: Lunch\r\n\r\nShall we meet at noon?\r\n"


@pytest.fixture
def nodes(access: ClusterAccess) -> str:
    return " ".join(map(str, access.nodes))


@pytest.fixture
def state(access: ClusterAccess, tmp_path: Path) -> Path:
    """A state folder whose counts went into the cluster: 10, 20, ... of five senders."""
    folder = tmp_path / "state"
    writer = ClusterWriter(folder / "counters", access)
    worker = worker_of(folder, access)
    for number, sender in enumerate(SENDERS):
        worker.add(
            CountedPieces(shingles=(sender,), pairs=()),
            Amounts(seen=10 * (number + 1)),
            time.time(),
        )
    worker.close()
    writer.step(time.time())
    writer.step(time.time())  # notes that all is there
    writer.keep_top()
    writer.close()
    return folder


def worker_of(state: Path, access: ClusterAccess) -> ClusterCounters:
    return ClusterCounters(state / "counters", "worker-0", access)


def run(state: Path, nodes: str, *words: object, data: str | None = None) -> Result:
    settings = ["--set", "counters.store=cluster", "--set", f"cluster.nodes={nodes}"]
    told = ["--state", str(state), *settings, *map(str, words)]
    return CliRunner().invoke(
        main, told, input=data, catch_exceptions=False, env={"COLUMNS": "200"}
    )


def seen(state: Path, access: ClusterAccess) -> list[int]:
    async def read() -> list[int]:
        with ClusterReader(state / "counters", access) as store:
            totals = await store.read(SENDERS, time.time())
            return [one[Window.FORTNIGHT][Metric.SEEN] for one in totals]

    return asyncio.run(read())


def node_of(cluster: Cluster, shingle: Shingle) -> Node:
    return cluster.primary_of(SLOT_OF_TAG[tag_of(key_of(shingle, CounterPrefix.IN))])


def test_top_sorts_what_this_machine_counted_most_by_the_clusters_counts(
    state: Path, access: ClusterAccess, nodes: str, tmp_path: Path
) -> None:
    other = ClusterWriter(tmp_path / "other/counters", access)
    worker = worker_of(tmp_path / "other", access)
    worker.add(CountedPieces(shingles=(SENDERS[0],), pairs=()), Amounts(seen=90), time.time())
    worker.close()
    other.step(time.time())
    other.close()
    top = json.loads(run(state, nodes, "counters", "top", "from", "--limit", 2, "--json").stdout)[
        "top"
    ]
    assert top == [
        {"shingle": name_of(SENDERS[0]), "count": 100},
        {"shingle": name_of(SENDERS[4]), "count": 50},
    ]


def test_top_where_no_writer_has_run_says_so(tmp_path: Path, nodes: str) -> None:
    told = run(tmp_path, nodes, "counters", "top", "from")
    assert told.exit_code == os.EX_IOERR
    assert "has the writer run?" in told.stderr


def test_show_draws_what_the_cluster_has(state: Path, nodes: str, tmp_path: Path) -> None:
    told = run(state, nodes, "counters", "show", name_of(SENDERS[2]))
    assert told.exit_code == 0, told.stderr
    assert "seen" in told.stdout
    assert " 30 " in told.stdout
    letter = tmp_path / "letter.eml"
    letter.write_bytes(LETTER)
    assert "were not seen in two weeks" in run(state, nodes, "counters", "show", letter).stdout


def test_forget_goes_through_the_spool(state: Path, access: ClusterAccess, nodes: str) -> None:
    told = run(state, nodes, "counters", "forget", name_of(SENDERS[1]), data="y\n")
    assert told.exit_code == 0, told.stderr
    assert "seen 20" in told.stdout
    assert seen(state, access) == [10, 20, 30, 40, 50]
    writer = ClusterWriter(state / "counters", access)
    writer.step(time.time())
    writer.close()
    assert seen(state, access) == [10, 0, 30, 40, 50]


def test_forget_makes_no_spool_where_no_writer_has_run(tmp_path: Path, nodes: str) -> None:
    told = run(tmp_path / "nowhere", nodes, "counters", "forget", name_of(SENDERS[1]), "--yes")
    assert told.exit_code == os.EX_IOERR
    assert "has the writer run?" in told.stderr
    assert not (tmp_path / "nowhere").exists()


def test_stats_tells_nodes_outbox_and_spools(
    state: Path, access: ClusterAccess, nodes: str, cluster: Cluster
) -> None:
    found = json.loads(run(state, nodes, "counters", "stats", "--json").stdout)
    assert sorted(one["address"] for one in found["nodes"]) == sorted(cluster.names)
    assert {(one["role"], one["trouble"]) for one in found["nodes"]} == {("primary", "")}
    assert sum(one["slots"] for one in found["nodes"]) == SLOTS
    # a page and its tag's note each
    assert sum(one["pages"] for one in found["nodes"]) == 2 * len(SENDERS)
    assert all(one["memory_bytes"] > 0 for one in found["nodes"])
    outbox = found["outbox"]
    assert (outbox["steps"], outbox["unsent_steps"], outbox["oldest"]) == (1, 0, None)
    assert outbox["bytes"] > 0
    assert (found["writer"], found["spools"], found["lag_s"]) == (None, [], 0)
    lines = [line.split() for line in run(state, nodes, "counters", "stats").stdout.splitlines()]
    assert ["sent", "by", "nobody", "now"] in lines
    assert sum("answers" in line for line in lines) == len(cluster.nodes)
    worker = worker_of(state, access)
    worker.add(CountedPieces(shingles=(SENDERS[0],), pairs=()), Amounts(seen=1), time.time())
    worker.close()
    found = json.loads(run(state, nodes, "counters", "stats", "--json").stdout)
    assert [one["worker"] for one in found["spools"]] == ["worker-0"]
    assert found["waiting_bytes"] > 0


def test_stats_tells_what_a_cluster_that_is_away_lacks(state: Path, nodes: str) -> None:
    away = f"127.0.0.1:{free_port()}"
    nowhere = ClusterAccess(nodes=())
    an_hour_ago = time.time() - 3600
    worker = worker_of(state, nowhere)
    worker.add(CountedPieces(shingles=tuple(SENDERS), pairs=()), Amounts(seen=1), an_hour_ago)
    worker.close()
    writer = ClusterWriter(state / "counters", nowhere)
    writer.step(an_hour_ago)
    writer.close()
    found = json.loads(run(state, away, "counters", "stats", "--json").stdout)
    [node] = found["nodes"]
    assert (node["address"], node["role"]) == (away, "unknown")
    assert "cannot reach" in node["trouble"]
    assert found["outbox"]["unsent_steps"] == 1
    assert 0 < found["outbox"]["unsent_bytes"] < found["outbox"]["bytes"]
    assert found["lag_s"] >= 3600
    told = run(state, away, "doctor")
    assert told.exit_code == 1
    assert f"no node has {SLOTS:,} of {SLOTS:,} slots" in told.stdout
    assert "KiB in the outbox" in told.stdout
    # a node of the settings that is away, beside some that answer
    found = json.loads(run(state, f"{away} {nodes}", "counters", "stats", "--json").stdout)
    assert [one["address"] for one in found["nodes"] if one["trouble"]] == [away]


def test_doctor_looks_at_each_node(state: Path, nodes: str, cluster: Cluster) -> None:
    told = run(state, nodes, "doctor").stdout.splitlines()
    for name in cluster.names:
        [line] = [line for line in told if name in line]
        assert "OK" in line
    assert any("backlog" in line and "OK" in line for line in told)
    assert "names no node" in run(state, "", "doctor").stdout


def test_check_and_explain_take_counts_of_the_cluster(
    state: Path, nodes: str, tmp_path: Path
) -> None:
    letter = tmp_path / "letter.eml"
    letter.write_bytes(LETTER)
    told = run(state, nodes, "check", letter)
    assert told.exit_code == 0, told.stderr
    assert "scored without counts" not in told.stderr
    assert "two weeks" in run(state, nodes, "explain", "-v", letter).stdout


def test_what_part_of_the_cluster_says_is_shown_as_that(state: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.eml"
    letter.write_bytes(LETTER)
    away = f"127.0.0.1:{free_port()}"
    told = run(state, away, "explain", letter)
    assert told.exit_code == 0
    assert "these counts may be too low" in told.stderr
    told = run(state, away, "counters", "show", name_of(SENDERS[0]))
    assert told.exit_code == os.EX_IOERR
    assert "does not answer" in told.stderr


async def test_a_reader_is_told_what_the_other_shards_have(
    cluster: Cluster, state: Path, access: ClusterAccess
) -> None:
    silent = node_of(cluster, SENDERS[0])
    others = [number for number in range(5) if node_of(cluster, SENDERS[number]) is not silent]
    assert others
    assert silent.process is not None
    with ClusterReader(state / "counters", access, answer_s=0.5) as store:
        whole = await store.read([*SENDERS, SENDERS[0]], time.time())
        assert whole[0] == whole[-1]
        silent.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(StorePartial, match="is away") as caught:
                await store.read(SENDERS, time.time())
        finally:
            silent.process.send_signal(signal.SIGCONT)
    counts = [one[Window.FORTNIGHT][Metric.SEEN] for one in caught.value.totals]
    assert counts == [10 * (number + 1) if number in others else 0 for number in range(5)]


@pytest.mark.parametrize("words", [("verify",), ("compact",), ("stats", "--types")])
def test_what_is_for_one_machine_alone_says_so(
    state: Path, nodes: str, words: tuple[str, ...]
) -> None:
    told = run(state, nodes, "counters", *words)
    assert told.exit_code == os.EX_CONFIG
    assert "this is for the store of one machine alone" in told.stderr
