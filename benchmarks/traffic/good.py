"""Good senders: offices, providers, newsletters, universities, those who pass on what others write,
and newcomers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from benchmarks.traffic.connections import DAY_S, Floats, Kind, Made, evenly, office
from benchmarks.traffic.ground import GOOD_HOSTS, Ground
from benchmarks.traffic.places import Places, hoster, office_as
from benchmarks.traffic.world import DAYS, World

# Shares of the good connections.
SMALL: Final = 0.25
COMPANY: Final = 0.17
PROVIDER: Final = 0.30
NEWSLETTER: Final = 0.12
DISLIKED: Final = 0.03
UNIVERSITY: Final = 0.05
FORWARDER: Final = 0.03
LIST: Final = 0.03
GOOD_BURST: Final = 0.02

SMALL_RATE: Final = 0.8  # messages a working day of a small sender, mean of a log-normal (sigma 1)
COMPANY_RATE: Final = 20.0
ISSUES: Final = 13  # of a newsletter
NOTICES: Final = 400  # messages of a burst of good mail
DISLIKERS: Final = 4  # disliked newsletters


def good(
    world: World, ground: Ground, places: Places, made: Made, rng: np.random.Generator
) -> None:
    """Make the month's good mail.

    Each message shares its fate with none, but for issues of newsletters.
    """
    _small(world, ground, places, made, rng)
    _steady(world, ground, places, made, rng)
    _newsletters(world, places, made, rng)
    for number in range(round(world.good * GOOD_BURST * DAYS / NOTICES)):
        address = places.network(office_as(900 + number)) + 9
        begin = rng.uniform(1, DAYS - 1) * DAY_S
        if rng.random() < 0.5:  # half of them are known by other mail
            _send(office(rng, 5.0, 0, DAYS), address, Kind.GOOD_BURST, made)
        _send(evenly(rng, NOTICES, begin, begin + 3600), address, Kind.GOOD_BURST, made)


def _send(times: Floats, address: int, kind: Kind, made: Made) -> None:
    made.add(times, address, kind, campaign=-1, sender=made.sender())


def _small(
    world: World, ground: Ground, places: Places, made: Made, rng: np.random.Generator
) -> None:
    free: Iterator[int] = iter(())
    for _ in range(round(world.good * SMALL / SMALL_RATE)):
        rate = SMALL_RATE * rng.lognormal(-0.5, 1.0)
        begin = rng.uniform(0, DAYS) if rng.random() < world.newcomers else 0.0
        where = rng.random()
        if rng.random() < world.inherited:
            _inherited(rate, places, made, rng)
            continue
        if where < world.pooled:
            address = int(rng.choice(ground.pools)) + int(rng.choice(GOOD_HOSTS))
        elif where < world.pooled + world.hosted:
            address = int(rng.choice(ground.rented)) + int(rng.choice(GOOD_HOSTS))
        else:
            address = next(free, 0)
            if not address:  # a few offices in each of their networks
                base = places.network(office_as(300 + int(rng.integers(500))))
                free = iter(base + rng.choice(np.arange(1, 255), 3, replace=False))
                address = next(free)
        _send(office(rng, rate, begin, DAYS), address, Kind.SMALL, made)


def _inherited(rate: float, places: Places, made: Made, rng: np.random.Generator) -> None:
    address = places.network(hoster(int(rng.integers(2, 1000)))) + 77
    begin, ends = (day := rng.uniform(0, DAYS / 2)) * DAY_S, (day + 2) * DAY_S
    made.add(evenly(rng, int(rng.integers(50, 500)), begin, ends), address, Kind.BURST,
             campaign=made.campaign(), sender=made.sender())  # fmt: skip
    again = ends / DAY_S + rng.uniform(1, 14)
    _send(office(rng, rate + 1, again, DAYS), address, Kind.NEW_OWNER, made)


def _steady(
    world: World, ground: Ground, places: Places, made: Made, rng: np.random.Generator
) -> None:
    for number in range(round(world.good * COMPANY / COMPANY_RATE)):
        rate = COMPANY_RATE * rng.lognormal(-0.3, 0.8)
        _send(
            office(rng, rate, 0, DAYS),
            places.network(office_as(2000 + number)) + 2,
            Kind.COMPANY,
            made,
        )
    groups = (
        (Kind.PROVIDER, PROVIDER, ground.providers),
        (Kind.UNIVERSITY, UNIVERSITY, ground.universities),
        (Kind.FORWARDER, FORWARDER, list(ground.forwarders[:, None])),
        (Kind.LIST, LIST, list(ground.lists[:, None])),
    )
    for kind, share, members in groups:
        weights = 1 / np.arange(1, len(members) + 1)
        for addresses, weight in zip(members, weights / weights.sum(), strict=True):
            times = office(rng, world.good * share * float(weight), 0, DAYS)
            made.add(
                times, rng.choice(addresses, len(times)), kind, campaign=-1, sender=made.sender()
            )


def _newsletters(world: World, places: Places, made: Made, rng: np.random.Generator) -> None:
    for kind, share, count in (
        (Kind.NEWSLETTER, NEWSLETTER, 40),
        (Kind.DISLIKED, DISLIKED, DISLIKERS),
    ):
        copies = world.good * share * DAYS / count / ISSUES
        for number in range(count):
            addresses = places.network(office_as(5000 + 50 * int(kind) + number)) + np.arange(
                1, 1 + rng.integers(1, 4)
            )
            first = rng.uniform(0, DAYS) if rng.random() < world.newcomers / 2 else 0.0
            sender, mean = made.sender(), copies * rng.lognormal(-0.3, 0.8)
            for day in np.linspace(rng.uniform(0, 3), DAYS, ISSUES, endpoint=False):
                if day < first:
                    continue
                begin = (int(day) + rng.uniform(7, 18) / 24) * DAY_S
                times = evenly(rng, rng.poisson(mean), begin, begin + 1800)
                made.add(
                    times,
                    rng.choice(addresses, len(times)),
                    kind,
                    campaign=made.campaign(),
                    sender=sender,
                )
