"""A PostgreSQL for all tests of a process, emptied for each."""

from collections.abc import Iterator

import pytest

from oborona.replication.log_pool import close_resting
from tests.peers.postgresql import Postgresql


@pytest.fixture(scope="session")
def running_postgresql() -> Iterator[Postgresql]:
    with Postgresql() as server:
        yield server


@pytest.fixture
def postgresql(running_postgresql: Postgresql) -> Iterator[Postgresql]:
    running_postgresql.rows("DROP SCHEMA IF EXISTS oborona CASCADE")
    yield running_postgresql
    close_resting()
