"""What the counters know for the limits of one message."""

from __future__ import annotations

from collections.abc import Sequence

from oborona.accounts.limits.decision import LimitReading
from oborona.accounts.limits.memory import LimitMemory
from oborona.accounts.limits.plan import PLACES, WINDOWS, NumberPlace, limit_shingle
from oborona.accounts.limits.subjects import subject_shingles
from oborona.accounts.limits.usual import UNKNOWN_PAST, AccountPast, account_past
from oborona.counters.window import DAY_S
from oborona.message.hashing import Hasher
from oborona.policy.limits import Limit
from oborona.policy.ports import CounterReader
from oborona.types import CounterPrefix, Envelope, Shingle


async def read_limits(
    memory: LimitMemory,
    limits: Sequence[Limit],
    envelope: Envelope,
    hasher: Hasher,
    counters: CounterReader,
    now: float,
) -> list[LimitReading]:
    """Return the limits that are for a message, with what the counters know.

    Args:
        memory: of the process; gets what is read once a day.
        limits: of the policy.
        envelope: of the message.
        hasher: holds the site's secret.
        counters: the store; one read for each prefix that the limits ask for.
        now: Unix seconds.

    Raises:
        StoreError: they can't be asked, or not for all.
    """
    shingles = subject_shingles({limit.each for limit in limits}, envelope, hasher)
    wanted = [
        (limit, PLACES[limit.count], shingle)
        for limit in limits
        if (shingle := limit_shingle(limit, shingles, envelope, hasher)) is not None
    ]
    asked: dict[CounterPrefix, dict[Shingle, None]] = {}
    for _, place, shingle in wanted:
        asked.setdefault(place.prefix, {})[shingle] = None
    rows: dict[tuple[CounterPrefix, Shingle], list[list[int]]] = {}
    for prefix, distinct in asked.items():
        for shingle, row in zip(
            distinct, await counters.read(tuple(distinct), now, prefix), strict=True
        ):
            rows[prefix, shingle] = row
    return [
        LimitReading(
            limit=limit,
            counted=rows[place.prefix, shingle][WINDOWS[limit.window]][place.metric],
            past=await _past(memory, place, shingle, counters, now)
            if limit.asks_past
            else UNKNOWN_PAST,
        )
        for limit, place, shingle in wanted
    ]


async def _past(
    memory: LimitMemory, place: NumberPlace, shingle: Shingle, counters: CounterReader, now: float
) -> AccountPast:
    """Return what is known of somebody's earlier days: read once a day."""
    day = int(now // DAY_S)
    past = memory.past(place, shingle, day)
    if past is None:
        (line,) = await counters.timelines([shingle], now, place.prefix)
        past = account_past([counts[place.metric] for counts in line.days])
        memory.keep(place, shingle, day, past)
    return past
