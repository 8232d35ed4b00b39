"""Where good and bad senders meet: networks and hosts that both use."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from benchmarks.traffic.connections import Ints
from benchmarks.traffic.places import Places, hoster, isp, office_as
from benchmarks.traffic.world import World

RENTED: Final = 30  # /24 networks of hosting companies with tenants of both sorts
PROVIDERS: Final = 6
PROVIDER_NETWORKS: Final = 2
PROVIDER_HOSTS: Final = 20  # in each of these networks
UNIVERSITIES: Final = 2
FORWARDERS: Final = 15
LISTS: Final = 8
# in networks that both use, no address has two tenants at a time
GOOD_HOSTS: Final = np.arange(1, 50)
BAD_HOSTS: Final = np.arange(50, 255)


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses of hosts, and first addresses of networks."""

    pools: Ints
    rented: Ints
    providers: list[Ints]
    universities: list[Ints]
    forwarders: Ints
    lists: Ints


def ground(world: World, places: Places, rng: np.random.Generator) -> Ground:
    """Return the networks of a world."""

    def networks(whose: list[int]) -> Ints:
        return np.array([places.network(one) for one in whose], np.int64)

    hosts = 1 + np.arange(PROVIDER_HOSTS)
    return Ground(
        pools=networks([isp(int(rng.integers(1000))) for _ in range(round(world.pools))]),
        rented=networks([hoster(number) for number in range(RENTED)]),
        providers=[
            np.concatenate(
                [base + hosts for base in networks([office_as(number)] * PROVIDER_NETWORKS)]
            )
            for number in range(PROVIDERS)
        ],
        universities=[
            networks([office_as(100 + number)]) + np.array([5, 6]) for number in range(UNIVERSITIES)
        ],
        forwarders=networks([hoster(int(rng.integers(2, 1000))) for _ in range(FORWARDERS)]) + 25,
        lists=networks([office_as(200 + number) for number in range(LISTS)]) + 25,
    )
