"""`oborona counters bench --store cluster`: three real nodes, filled, loaded, counted and left
empty.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.counter_load.workload import NEW
from tests.peers.redis import Cluster


def bench(cluster: Cluster, folder: Path) -> Result:
    words = [
        "--nodes",
        cluster.names[0],
        "--keys",
        "2000",
        "--seconds",
        "1",
        "--rate",
        "4000",
        "--json",
    ]
    command = ["counters", "bench", "--store", "cluster", "--directory", str(folder), *words]
    return CliRunner().invoke(main, command, catch_exceptions=False)


def test_the_cluster_has_every_message_that_is_reported_and_is_empty_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    report = json.loads(bench(cluster, tmp_path).stdout)
    assert report["messages"] > 0
    assert report["keys"] == 2000
    assert report["keys_after"] == 2000 + NEW * report["messages"]
    assert report["unanswered"] < report["messages"]
    assert [node.ask("DBSIZE") for node in cluster.nodes] == [0, 0, 0]
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_holds_anything_is_refused_and_left_alone(
    cluster: Cluster, tmp_path: Path
) -> None:
    node = cluster.nodes[0]
    slot = next(slot for slot in range(16_384) if cluster.primary_of(slot) is node)
    key = next(
        key for key in map(str, range(100_000)) if node.ask("CLUSTER", "KEYSLOT", key) == slot
    )
    node.ask("SET", key, "theirs")
    try:
        result = bench(cluster, tmp_path)
        assert result.exit_code == os.EX_CONFIG
        assert "holds 1 keys" in result.stderr
        assert node.ask("GET", key) == "theirs"
    finally:
        node.ask("DEL", key)
