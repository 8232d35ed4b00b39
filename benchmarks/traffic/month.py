"""One month: a world, a seed, a policy, and what came of it."""

from __future__ import annotations

import asyncio

import msgspec
import numpy as np

from benchmarks.traffic.bad import bad
from benchmarks.traffic.connections import DAY_S, Connections, Made
from benchmarks.traffic.good import good
from benchmarks.traffic.ground import ground
from benchmarks.traffic.people import Fates, fates
from benchmarks.traffic.places import Places
from benchmarks.traffic.site import Outcome, run
from benchmarks.traffic.world import DAYS, LEARNING, World
from oborona.policy.load import Policy


class Month(msgspec.Struct, frozen=True, kw_only=True):
    """What came, what would have become of it, and what the site did."""

    # seconds from the first midnight; before that nobody was refused, and nothing is measured
    since: float
    mail: Connections
    fates: Fates
    outcome: Outcome


def month(
    world: World, seed: int, policy: Policy, *, learning: float = LEARNING, days: float = DAYS
) -> Month:
    """Make a month from its seed, and let it come.

    Args:
        world: what it is made of.
        seed: the same one gives the same month.
        policy: what is done about flags.
        learning: days on which nobody is refused.
        days: how many come, those included.
    """
    rng, places, made = np.random.default_rng(seed), Places(), Made()
    grounds = ground(world, places, rng)
    good(world, grounds, places, made, rng)
    bad(world, grounds, places, made, rng)
    mail = made.all(days * DAY_S)
    fate = fates(world, made, mail, rng)
    since = learning * DAY_S
    outcome = asyncio.run(run(mail, fate, places, policy, since))
    return Month(since=since, mail=mail, fates=fate, outcome=outcome)
