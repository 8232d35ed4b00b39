"""How long an address stays refused after its last bad message, by what it had sent.

With real counters, hour by hour.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from benchmarks.traffic.site import HASHER, START
from oborona.counters.memory import MemoryCounters
from oborona.message.shingles import envelope_shingles
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.reputation.flag import ReputationFlag
from oborona.types import Amounts, Client, Envelope

HOUR_S: Final = 3600
MOST_H: Final = 16 * 24
NEIGHBOURS: Final = 20


class Offence(NamedTuple):
    """What an address did, each day at noon."""

    words: str
    spam: int
    days: int = 1
    neighbours: int = 0  # bad messages of each of NEIGHBOURS other addresses
    good: int = 0  # a day


OFFENCES: Final = (
    Offence("20 spam messages", 20),
    Offence("1,000 spam messages", 1000),
    Offence("50 a day for ten days", 50, days=10),
    Offence("a hacked server: 400, after 10 good ones a day for ten days", 400, days=10, good=10),
    Offence("one, in a network where 20 others sent 3 each", 1, neighbours=3),
    Offence("20, in a network where 20 others sent 3 each", 20, neighbours=3),
)


def forgiven_h(offence: Offence) -> int | None:
    """Return the hours from the last bad message until the address is let in.

    0: it never was refused; None: more than MOST_H.
    """
    return asyncio.run(_forgiven(offence))


async def _forgiven(offence: Offence) -> int | None:
    counters = MemoryCounters()
    own, *others = (
        envelope_shingles(Envelope(client=Client(ip=f"11.1.2.{host}")), HASHER)
        for host in range(1, NEIGHBOURS + 2)
    )
    noon = START + 12 * HOUR_S
    for day in range(offence.days):
        now = noon + day * 24 * HOUR_S
        counters.add(own, Amounts(seen=offence.good), now)
        if not offence.good or day == offence.days - 1:
            counters.add(own, Amounts(seen=offence.spam, spam=offence.spam), now)
        for one in others:
            counters.add(one, Amounts(seen=offence.neighbours, spam=offence.neighbours), now)
    last = noon + (offence.days - 1) * 24 * HOUR_S
    wanted = shingles_to_read(own)
    for hour in range(MOST_H):
        known = MessageCounts(wanted, await counters.read(wanted, last + hour * HOUR_S))
        if known.repip().flag is not ReputationFlag.BAD:
            return hour
    return None
