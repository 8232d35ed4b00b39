"""A cluster that speaks TLS alone: both clients count there, and neither believes a node that the
certificates do not vouch for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.client import ClusterClient
from oborona.counters.cluster.wire import ClusterAccess, pack
from oborona.errors import StoreError
from tests.cluster.conftest import access_of
from tests.peers.certificate import write_certificate
from tests.peers.redis import PATIENT, Cluster

SLOTS = {b"b": 3300, b"c": 7365, b"a": 15495}  # each of another primary


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "nodes.pem")


BY_NAME = {
    "cluster-announce-hostname": "localhost",
    "cluster-preferred-endpoint-type": "hostname",
}


@pytest.fixture(scope="module", params=[{}, BY_NAME], ids=["addresses", "names"])
def tls_cluster(certificate: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    settings = PATIENT | request.param
    with Cluster(replicas=0, settings=settings, certificate=certificate) as cluster:
        yield cluster


@pytest.fixture
def tls_access(tls_cluster: Cluster, certificate: Path) -> ClusterAccess:
    return msgspec.structs.replace(access_of(tls_cluster), authority=str(certificate))


async def test_what_one_client_writes_the_other_reads(
    tls_access: ClusterAccess, tls_cluster: Cluster
) -> None:
    blocking, pipelined = BlockingClusterClient(tls_access), ClusterClient(tls_access, 20.0)
    try:
        written = blocking.ask([(slot, [b"HSET", key, b"a", b"1"]) for key, slot in SLOTS.items()])
        assert written == [1, 1, 1]
        asked = [(slot, pack([b"HGET", key, b"a"])) for key, slot in SLOTS.items()]
        assert await pipelined.ask(asked) == [b"1", b"1", b"1"]
        told = {node.host for node in blocking.nodes()}
        assert told == {"localhost" if "hostname" in str(tls_cluster.settings) else "127.0.0.1"}
    finally:
        blocking.close()
        pipelined.close()


async def test_a_node_that_nobody_vouches_for_is_not_believed(
    tls_access: ClusterAccess, tmp_path: Path
) -> None:
    other = write_certificate(tmp_path / "other.pem")
    doubtful = msgspec.structs.replace(tls_access, authority=str(other))
    blocking, pipelined = BlockingClusterClient(doubtful), ClusterClient(doubtful, 20.0)
    try:
        (answer,) = blocking.ask([(0, [b"HGET", b"x", b"a"])])
        assert isinstance(answer, StoreError)
        assert await pipelined.ask([(0, pack([b"HGET", b"x", b"a"]))]) == [None]
        assert "certificate verify failed" in blocking.trouble
        assert "certificate verify failed" in pipelined.trouble
    finally:
        blocking.close()
        pipelined.close()


def test_without_tls_nothing_is_told(tls_access: ClusterAccess) -> None:
    plain = msgspec.structs.replace(tls_access, authority="")
    blocking = BlockingClusterClient(plain, answer_s=2.0)
    try:
        (answer,) = blocking.ask([(0, [b"HGET", b"x", b"a"])])
        assert isinstance(answer, StoreError)
    finally:
        blocking.close()
