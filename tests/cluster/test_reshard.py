"""A shard is added under load, and slots are moved to it: nothing is lost, nothing counted twice,
reads go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.counters.cluster.layout import SLOT_OF_TAG, SLOTS
from tests.peers.redis import Cluster

from .conftest import access_of
from .load import Load

pytestmark = pytest.mark.slow


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """One whose slots may lie elsewhere afterwards."""
    with Cluster(replicas=0) as cluster:
        yield cluster


async def test_a_shard_is_added_under_load(own_cluster: Cluster, tmp_path: Path) -> None:
    access = access_of(own_cluster)
    async with Load(tmp_path, access, deadline_s=5.0) as load:
        await asyncio.sleep(1.0)
        node = await asyncio.to_thread(own_cluster.add_shard)
        await asyncio.to_thread(own_cluster.reshard, node, SLOTS // 4)
        await asyncio.sleep(0.5)
        await load.until_sent()
        assert load.figures.partial == 0
        assert load.reports == []
        moved = sum(own_cluster.primary_of(slot) is node for slot in SLOT_OF_TAG)
        assert moved > len(SLOT_OF_TAG) / 8
        assert await load.differences(access, tmp_path / "elsewhere") == []
