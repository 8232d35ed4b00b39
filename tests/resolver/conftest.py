"""Both event loops, and resolvers on the test's own DNS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

from oborona.resolver import Resolver, ResolverAddress
from tests.peers.dns import Zones

TIMEOUT_S = 0.5


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Far(ResolverAddress, frozen=True):
    """A server that is taken for one on another machine."""

    @property
    def loopback(self) -> bool:
        return False


@pytest.fixture(params=[ResolverAddress, Far], ids=["near", "far"])
def server_of(request: pytest.FixtureRequest) -> Callable[[Zones], ResolverAddress]:
    """How to name a server, taken for one on this machine or on another."""
    return lambda zones: request.param(zones.host, zones.port)


@pytest.fixture
def make(zones: Zones, server_of: Callable[[Zones], ResolverAddress]) -> Callable[..., Resolver]:
    """A resolver on the test's own DNS, and on others after it."""

    def make(*others: Zones, **arguments: object) -> Resolver:
        servers = [server_of(one) for one in (zones, *others)]
        return Resolver(servers, **({"timeout_s": TIMEOUT_S} | arguments))  # type: ignore[arg-type]

    return make
