"""A cluster of three primaries with a replica each that loses machines under load: nothing is lost,
nothing counted twice.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.counters.cluster.layout import SLOTS, TAGS
from tests.peers.redis import Cluster, Node

from .conftest import access_of
from .load import Load

pytestmark = pytest.mark.slow


@pytest.fixture
def six_nodes() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


def replica_of(cluster: Cluster, primary: Node) -> Node:
    """Return the node that copies this one."""
    answer = primary.ask("ROLE")
    assert isinstance(answer, list)
    port = int(answer[2][0][1])
    return next(node for node in cluster.nodes if node.address[1] == port)


async def test_a_primary_is_killed_under_load(six_nodes: Cluster, tmp_path: Path) -> None:
    access = access_of(six_nodes)
    async with Load(tmp_path, access) as load:
        await asyncio.sleep(1.5)
        load.trouble()
        six_nodes.primary_of(0).kill()
        await load.until_whole()
        await load.until_sent()
        assert load.figures.partial > 0
        assert await load.differences(access, tmp_path / "elsewhere") == []


async def test_what_a_replica_never_got_is_sent_again(six_nodes: Cluster, tmp_path: Path) -> None:
    """The replica stands still while its primary goes on acknowledging, and then takes its
    place.
    """
    access = access_of(six_nodes)
    async with Load(tmp_path, access) as load:
        await load.until_acknowledged(TAGS - 1)
        primary = six_nodes.primary_of(SLOTS - 1)
        replica = replica_of(six_nodes, primary)
        assert replica.process is not None
        os.kill(replica.process.pid, signal.SIGSTOP)
        primary.ask(
            "CLIENT", "KILL", "TYPE", "replica"
        )  # what is sent from now on lies in no buffer of its machine
        await load.until_acknowledged(TAGS - 1)
        load.trouble()
        primary.kill()
        os.kill(replica.process.pid, signal.SIGCONT)
        await load.until_whole()
        await load.until_sent()
        assert any("it is sent again" in line for line in load.reports)
        assert await load.differences(access, tmp_path / "elsewhere") == []


async def test_the_sender_is_killed_again_and_again(six_nodes: Cluster, tmp_path: Path) -> None:
    access = access_of(six_nodes)
    async with Load(tmp_path, access) as load:
        for pause_s in (0.9, 0.61, 0.73, 0.67, 0.8):
            await asyncio.sleep(pause_s)
            load.kill_sender()
        await load.until_sent()
        assert [line for line in load.reports if "all of it is read first" not in line] == []
        assert await load.differences(access, tmp_path / "elsewhere") == []
