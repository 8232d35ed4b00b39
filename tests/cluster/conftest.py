"""A cluster of real Redis processes: three primaries for what needs no failover, and what empties
them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oborona.counters.cluster import add_function
from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
from tests.peers.redis import PATIENT, Cluster


def access_of(cluster: Cluster) -> ClusterAccess:
    """Return how to reach a cluster, by all of its nodes.

    On a machine under load a connection takes its time.
    """
    return ClusterAccess(
        nodes=tuple(NodeAddress(*node.address) for node in cluster.nodes), connect_s=20.0
    )


@pytest.fixture(scope="session")
def three_primaries() -> Iterator[Cluster]:
    with Cluster(replicas=0, settings=PATIENT) as cluster:
        yield cluster


@pytest.fixture
def cluster(three_primaries: Cluster) -> Cluster:
    """Three primaries, empty."""
    for node in three_primaries.nodes:
        node.ask("FLUSHALL")
    return three_primaries


@pytest.fixture
def access(cluster: Cluster) -> ClusterAccess:
    return access_of(cluster)


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def shards(access: ClusterAccess) -> Iterator[BlockingClusterClient]:
    """For who sends by hand; the function is there."""
    made = BlockingClusterClient(access)
    for node in made.nodes():
        add_function.load(made, node)
    yield made
    made.close()
