"""Spammers: with a stolen password, a new account, one that was warmed up, or many of one
customer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from benchmarks.outgoing.letter import (
    DAY_S,
    HOUR_S,
    Letter,
    Origin,
    hour_of_people,
    poisson,
    some_address,
    stranger,
)
from benchmarks.outgoing.respectable import ABROAD, HOME
from benchmarks.outgoing.world import DAYS, World

WARM_DAYS: Final = 21
CROWD: Final = 50  # recipients of a message, of those who do that
COUNTRIES: Final = (*ABROAD, "RU", "BR", "IN", "VN", "NG", "ID", "CN", "UA", "AR", "ZA")


class Campaign(NamedTuple):
    """What a spammer wants."""

    goal: int  # people to reach
    hourly: float  # of them
    crowd: int  # recipients of a message
    texts: tuple[str, ...]  # one of these each; empty: too short to be counted
    share: float  # that is caught by its content
    origins: tuple[Origin, ...]


def campaign(world: World, rng: Random, name: str, *, at_home: bool) -> Campaign:
    """Draw a campaign.

    Args:
        world: its numbers.
        rng: of the spammer.
        name: of the spammer.
        at_home: all of it comes from one address; else from machines of many countries.
    """
    chance = rng.random()
    texts = (
        1 if chance < world.one_text
        else rng.randrange(5, 41) if chance < world.one_text + world.spun
        else 0
    )  # fmt: skip
    machines = 1 if at_home else rng.choice((1, 1, 3, 10, 100))
    return Campaign(
        goal=int(_log_uniform(rng, world.goal_low, world.goal_high)),
        hourly=_log_uniform(rng, world.slowest, world.fastest),
        crowd=CROWD if rng.random() < world.crowds else 1,
        texts=tuple(f"spam {name} {number}" for number in range(texts)),
        share=rng.betavariate(world.caught * world.alike, (1 - world.caught) * world.alike),
        origins=tuple(
            Origin(some_address(rng), HOME if at_home else rng.choice(COUNTRIES))
            for _ in range(machines)
        ),
    )


def campaign_mail(
    plan: Campaign, rng: Random, logins: tuple[str, ...], begin: float
) -> Iterator[Letter]:
    """Yield a campaign, over one login or several in turn; who does not want to be seen rests at
    night.

    Args:
        plan: what is sent.
        rng: of the spammer.
        logins: that send.
        begin: seconds from the first midnight.
    """
    at, rests = begin, plan.hourly < 200
    messages = max(20, plan.goal // plan.crowd)
    gap = HOUR_S * plan.crowd / plan.hourly
    for number in range(messages):
        at += rng.expovariate(1 / gap)
        if rests and at % DAY_S < 6 * HOUR_S:
            at = at // DAY_S * DAY_S + 6 * HOUR_S
        if at >= DAYS * DAY_S:
            return
        login = logins[number % len(logins)]
        whom = tuple(stranger(rng) for _ in range(plan.crowd))
        text = rng.choice(plan.texts) if plan.texts else ""
        caught = rng.random() < plan.share
        yield Letter(at, login, login, whom, *rng.choice(plan.origins), 5_000, text, caught=caught)


def warming_mail(rng: Random, login: str, first_day: int, where: Origin) -> Iterator[Letter]:
    """Yield three weeks of what looks like a person's mail, each week more of it."""
    known = [stranger(rng) for _ in range(30)]
    for day in range(WARM_DAYS):
        for second in sorted(hour_of_people(rng) for _ in range(poisson(rng, 5 + 2.5 * day))):
            if rng.random() < 0.3:
                known.append(stranger(rng))
            at = (first_day + day) * DAY_S + second
            yield Letter(at, login, login, (rng.choice(known),), *where)


def _log_uniform(rng: Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))
