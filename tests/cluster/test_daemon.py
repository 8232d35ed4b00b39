"""The daemon with its counters in a cluster: mail is counted there, and goes on without it."""

from __future__ import annotations

import time
from pathlib import Path

from oborona import secret
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess
from oborona.message.shingles import Hasher, ShingleType
from oborona.types import Metric, Window
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix

LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: bob@example.test\r\nSubject: Lunch\r\nDate: Fri, 20 Nov "
    b"2026 10:00:00 +0000\r\n"
    b"Message-ID: <1@a.example>\r\n\r\nShall we meet at noon, as last week?\r\n"
)
WITHIN_S = 30.0


def settings(nodes: str) -> dict[str, object]:
    return {
        "worker.processes": 1,
        "counters.store": "cluster",
        "cluster.nodes": nodes,
        "cluster.deadline_s": 5,
    }


async def test_mail_is_counted_in_the_cluster(access: ClusterAccess, tmp_path: Path) -> None:
    nodes = " ".join(map(str, access.nodes))
    with Oborona(settings(nodes)) as oborona, Postfix(oborona.milter) as postfix:
        for _ in range(3):
            assert postfix.send(LETTER)[-1].startswith("250")
        sender = Hasher(secret.load(oborona.state).shingles).shingle(
            ShingleType.FROM, "ann@a.example"
        )
        counters = ClusterCounters(tmp_path, "other", access, deadline_s=30.0, stale_s=0.0)
        end = time.monotonic() + WITHIN_S
        seen = 0
        while seen < 3:
            assert time.monotonic() < end, oborona.log()
            [totals] = await counters.read([sender], time.time())
            seen = totals[Window.DAY][Metric.SEEN]
        assert seen == 3
        counters.close()
        assert "not answered for" not in oborona.log()


def test_mail_goes_on_without_the_cluster(open_folder: Path) -> None:
    with Oborona(settings("127.0.0.1:1")) as oborona, Postfix(oborona.milter) as postfix:
        assert postfix.send(LETTER)[-1].startswith("250")
        end = time.monotonic() + WITHIN_S
        while "are not answered for" not in oborona.log():
            assert time.monotonic() < end, oborona.log()
            time.sleep(0.05)


def test_a_cluster_without_nodes_is_refused(open_folder: Path) -> None:
    told = Oborona(settings("")).run("serve")
    assert told.returncode == 78  # EX_CONFIG
    assert 'counters.store is "cluster", and cluster.nodes names no node' in told.stderr
