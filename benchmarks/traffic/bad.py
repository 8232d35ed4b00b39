"""Spammers: bots, snowshoe networks, bursts, servers that do it for weeks, and those who hide
behind good addresses.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from benchmarks.traffic.connections import DAY_S, Kind, Made, evenly, office
from benchmarks.traffic.good import FORWARDER, LIST
from benchmarks.traffic.ground import BAD_HOSTS, Ground
from benchmarks.traffic.places import Places, hoster
from benchmarks.traffic.world import DAYS, World

MONTH_S: Final = DAYS * DAY_S
BOTNET_CAMPAIGNS: Final = 6  # at a time; each lasts a day
BURST: Final = 700  # messages of a burst, mean of a log-normal (sigma 0.8), within 1 to 24 hours
STEADY_RATE: Final = 40.0  # messages a day
WARM_DAYS: Final = 10
WARM_RATE: Final = 20.0
SOLD_RATE: Final = 60.0
EPISODE: Final = 40  # messages of an infected machine, within two days


def bad(world: World, ground: Ground, places: Places, made: Made, rng: np.random.Generator) -> None:
    """Make the month's spam."""
    _bots(world, ground, made, rng)
    _snowshoe(world, ground, places, made, rng)
    month = world.spam * DAYS
    for _ in range(round(month * world.bursts / BURST)):
        _burst(_rented(ground, places, rng), Kind.BURST, made.sender(), made, rng)
    for _ in range(round(month * world.steady / STEADY_RATE / 20)):
        begin = rng.uniform(-10, DAYS - 2)
        end = min(begin + rng.uniform(10, 30), DAYS)
        count = rng.poisson(STEADY_RATE * (end - begin))
        address, sender = _rented(ground, places, rng), made.sender()
        campaigns = np.array([made.campaign() for _ in range(DAYS + 11)])
        times = evenly(rng, count, begin * DAY_S, end * DAY_S)
        made.add(
            times,
            address,
            Kind.STEADY,
            campaign=campaigns[(times // DAY_S).astype(int)],
            sender=sender,
        )
    for _ in range(round(month * world.warmed / (BURST + WARM_DAYS * WARM_RATE))):
        address, sender, begin = (
            _rented(ground, places, rng),
            made.sender(),
            rng.uniform(0, DAYS - 11),
        )
        warm = office(rng, WARM_RATE, begin, begin + WARM_DAYS)
        made.add(warm, address, Kind.WARMED, campaign=-2, sender=sender)
        _burst(address, Kind.WARMED, sender, made, rng, begin=(begin + WARM_DAYS) * DAY_S)
    for _ in range(round(month * world.sold / (SOLD_RATE * 4))):
        address, day = _rented(ground, places, rng), rng.uniform(5, DAYS - 6)
        made.add(office(rng, 5, 0, day), address, Kind.SMALL, campaign=-1, sender=made.sender())
        times = evenly(rng, int(SOLD_RATE * 4), (day + 1) * DAY_S, (day + 5) * DAY_S)
        made.add(times, address, Kind.SOLD, campaign=made.campaign(), sender=made.sender())
    _behind(world, ground, made, rng)


def _rented(ground: Ground, places: Places, rng: np.random.Generator) -> int:
    """Return an address to rent: half of the time in a network where good tenants are, too."""
    host = int(rng.choice(BAD_HOSTS))
    if rng.random() < 0.5:
        return int(rng.choice(ground.rented)) + host
    return places.network(hoster(int(rng.integers(1000)))) + host


def _burst(
    address: int,
    kind: Kind,
    sender: int,
    made: Made,
    rng: np.random.Generator,
    *,
    begin: float = -1,
) -> None:
    begin = begin if begin >= 0 else rng.uniform(0, MONTH_S)
    length = np.exp(rng.uniform(0, np.log(24))) * 3600
    times = evenly(rng, int(BURST * rng.lognormal(-0.32, 0.8)), begin, begin + length)
    made.add(times, address, kind, campaign=made.campaign(), sender=sender)


def _bots(world: World, ground: Ground, made: Made, rng: np.random.Generator) -> None:
    visits = round(world.spam * DAYS * world.bots / world.bot_visit)
    weights = 1 / np.arange(1, len(ground.pools) + 1)
    networks = rng.choice(ground.pools, visits, p=weights / weights.sum())
    addresses = networks + rng.choice(BAD_HOSTS, visits)
    counts = rng.geometric(1 / world.bot_visit, visits)
    begins, lengths = rng.uniform(0, MONTH_S, visits), rng.exponential(2 * 3600.0, visits)
    times = np.repeat(begins, counts) + rng.random(counts.sum()) * np.repeat(lengths, counts)
    campaigns = np.array(
        [[made.campaign() for _ in range(BOTNET_CAMPAIGNS)] for _ in range(DAYS + 2)]
    )
    which = np.repeat(rng.integers(0, BOTNET_CAMPAIGNS, visits), counts)
    days = np.minimum(times // DAY_S, DAYS + 1).astype(int)
    made.add(
        times,
        np.repeat(addresses, counts),
        Kind.BOT,
        campaign=campaigns[days, which],
        sender=made.sender(),
    )


def _snowshoe(
    world: World, ground: Ground, places: Places, made: Made, rng: np.random.Generator
) -> None:
    each = world.shoe_addresses * world.shoe_messages
    for _ in range(max(1, round(world.spam * DAYS * world.snowshoe / each))):
        base = (
            int(rng.choice(ground.rented))
            if rng.random() < 0.3
            else places.network(hoster(int(rng.integers(1000))))
        )
        hosts = base + rng.choice(
            BAD_HOSTS, min(len(BAD_HOSTS), round(world.shoe_addresses)), replace=False
        )
        begin = rng.uniform(0, MONTH_S)
        count = rng.poisson(each)
        times = evenly(rng, count, begin, begin + rng.uniform(1, 3) * DAY_S)
        campaigns = np.array([made.campaign() for _ in range(3)])
        made.add(
            times,
            rng.choice(hosts, count),
            Kind.SNOWSHOE,
            campaign=rng.choice(campaigns, count),
            sender=made.sender(),
        )


def _behind(world: World, ground: Ground, made: Made, rng: np.random.Generator) -> None:
    month = world.spam * DAYS
    for _ in range(round(month * world.hacked / 300)):  # a stolen account is closed within a day
        hosts = ground.providers[_some(len(ground.providers), rng)]
        begin = rng.uniform(0, MONTH_S)
        times = evenly(rng, 300, begin, begin + rng.uniform(0.1, 1) * DAY_S)
        made.add(
            times,
            rng.choice(hosts, 300),
            Kind.HACKED,
            campaign=made.campaign(),
            sender=made.sender(),
        )
    for _ in range(round(month * world.infected / EPISODE)):
        hosts = ground.universities[_some(len(ground.universities), rng)]
        begin = rng.uniform(0, MONTH_S)
        times = evenly(rng, EPISODE, begin, begin + 2 * DAY_S)
        made.add(
            times, rng.choice(hosts), Kind.INFECTED, campaign=made.campaign(), sender=made.sender()
        )
    for hosts, share, of in (
        (ground.forwarders, FORWARDER, world.relayed),
        (ground.lists, LIST, world.relayed / 10),
    ):
        weights = 1 / np.arange(
            1, len(hosts) + 1
        )  # the more people one has, the more of either comes through it
        campaigns = np.array(
            [[made.campaign() for _ in range(BOTNET_CAMPAIGNS)] for _ in range(DAYS)]
        )
        count = rng.poisson(world.good * share * DAYS * of / (1 - of))
        times = evenly(rng, count, 0, MONTH_S)
        which = campaigns[(times // DAY_S).astype(int), rng.integers(0, BOTNET_CAMPAIGNS, count)]
        made.add(
            times,
            rng.choice(hosts, count, p=weights / weights.sum()),
            Kind.RELAYED,
            campaign=which,
            sender=made.sender(),
        )


def _some(count: int, rng: np.random.Generator) -> int:
    """Return one of some houses, the n-th of which has one n-th of the people of the first."""
    weights = 1 / np.arange(1, count + 1)
    return int(rng.choice(count, p=weights / weights.sum()))
