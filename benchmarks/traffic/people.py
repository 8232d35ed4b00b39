"""What becomes of each message if it is let in: the filter's verdict, a trap, and what its reader
says of it, and when.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from benchmarks.traffic.connections import Connections, Flags, Floats, Kind, Made
from benchmarks.traffic.world import World

NEVER: Final = np.inf
PARDON_H: Final = 12.0
SIGMA: Final = 1.2
WARM: Final = -2  # campaign of mail that gives no cause
TRAP_S: Final = 10.0


class Fates(NamedTuple):
    """Of each connection, were it let in."""

    judged: Flags  # spam, by the filter, at once
    complaint: Floats  # seconds from the first midnight; infinite: never
    pardon: Floats
    trap: Floats


def fates(world: World, made: Made, mail: Connections, rng: np.random.Generator) -> Fates:
    """Return what becomes of each message."""
    count = len(mail.time)
    spam = mail.kind >= Kind.BOT
    warm = mail.campaign == WARM
    at_once = 1 - world.late
    own = rng.beta(
        world.alike * world.caught, world.alike * (1 - world.caught), max(made.campaigns, 1)
    )
    whole = rng.random(max(made.campaigns, 1)) < world.mistaken / 2  # issues of newsletters
    issue = (mail.campaign >= 0) & ~spam
    judged = np.where(
        spam & ~warm,
        rng.random(count) < own[mail.campaign] * at_once,
        (rng.random(count) < world.mistaken / 2) | (issue & whole[mail.campaign]),
    )
    # out of sight soon
    late = spam & ~judged & ~warm & (rng.random(count) < world.late * own[mail.campaign])
    rate = np.where(spam & ~warm, world.complain, world.complain * world.noise)
    rate = np.where(mail.kind == Kind.NEWSLETTER, world.liked, rate)
    rate = np.where(mail.kind == Kind.DISLIKED, world.disliked, rate)
    complains = (rng.random(count) < rate) & ~judged & ~late
    wait = rng.lognormal(np.log(world.complain_h * 3600), SIGMA, count)
    pardons = judged & (
        rng.random(count) < np.where(spam, world.complain * world.noise, world.pardon)
    )
    rest = rng.lognormal(np.log(PARDON_H * 3600), SIGMA, count)
    trapped = spam & ~warm & (rng.random(count) < world.traps)
    return Fates(
        judged=judged,
        complaint=np.where(complains, mail.time + wait, NEVER),
        pardon=np.where(pardons, mail.time + rest, NEVER),
        trap=np.where(trapped, mail.time + TRAP_S, NEVER),
    )
