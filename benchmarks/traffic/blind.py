"""Bursts that the filter does not see: people and traps alone tell."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
import numpy as np

from benchmarks.traffic.connections import DAY_S, Kind, Made, evenly
from benchmarks.traffic.figures import Reaction, reactions
from benchmarks.traffic.month import Month
from benchmarks.traffic.people import fates
from benchmarks.traffic.places import Places, hoster
from benchmarks.traffic.site import run
from benchmarks.traffic.world import World
from oborona.policy.load import Policy

BURSTS: Final = 10
LENGTH_S: Final = DAY_S / 2
LEAST: Final = 1000  # messages
MOST: Final = 4000


def blind(world: World, seed: int, policy: Policy, bursts: int = BURSTS) -> list[Reaction]:
    """Let bursts come from fresh addresses, none of which the filter catches.

    Return how soon they were refused.
    """
    rng, places, made = np.random.default_rng(seed), Places(), Made()
    world = msgspec.structs.replace(world, caught=1e-9)
    for number in range(bursts):
        begin = rng.uniform(0, 5 * DAY_S)
        times = evenly(rng, int(rng.integers(LEAST, MOST)), begin, begin + LENGTH_S)
        address = places.network(hoster(number)) + 99
        made.add(times, address, Kind.BURST, campaign=made.campaign(), sender=made.sender())
    mail = made.all(7 * DAY_S)
    fate = fates(world, made, mail, rng)
    outcome = asyncio.run(run(mail, fate, places, policy))
    return reactions(Month(since=0.0, mail=mail, fates=fate, outcome=outcome), list(range(bursts)))
