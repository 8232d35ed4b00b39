"""How mail flows: rate, trend, and how much like a machine's its rhythm is.

`trend` compares the last hour with the rest of the day; `robotic` looks at the 144 ten-minute buckets of the day. Both are numbers without memory of
their own: the same counts give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

from oborona.types import Window

HOURS: Final = {
    Window.RECENT: 1 / 6,
    Window.HOUR: 1.0,
    Window.DAY: 24.0,
    Window.FORTNIGHT: 336.0,
}
MIN_MESSAGES: Final = 8  # seven gaps: fewer say nothing of a rhythm


def per_hour(total: float, hours: float) -> float:
    """Return how many an hour a total of so many hours is."""
    return total / hours


def trend(hour: float, day: float) -> float:
    """Return the last hour over an average hour of the 23 before it, both with one message more.

    1 is steady, and also for what was never seen; 40 in an hour after nothing are 41. The one message more keeps the second message of a sender
    from being an explosion.
    """
    return (hour + 1) / (max(day - hour, 0) / 23 + 1)


def robotic(buckets: Sequence[int]) -> float | None:
    """Return how regular a flow is: 1 like a clock, 0 at random or in bursts; None for fewer than MIN_MESSAGES messages.

    It is the burstiness of the gaps between messages, turned round and cut at 0: r = (their standard deviation) / (their mean) gives
    B = (sqrt(n+1) r - sqrt(n-1)) / ((sqrt(n+1) - 2) r + sqrt(n-1)) for n gaps, -1 for equal ones, 0 at random, towards 1 for bursts. Within
    a bucket messages are taken as evenly spread, because the counters do not know better; so whatever sends many in every bucket, day and
    night, is regular.

    Args:
        buckets: messages in each of the ten minutes, oldest first.

    Source: Goh and Barabasi, Burstiness and memory in complex systems, EPL 81 (2008) 48002; for few events: Kim and Jo, Measuring
    burstiness for finite event sequences, Phys. Rev. E 94 (2016) 032311, equation 22.
    """
    messages = sum(buckets)
    if messages < MIN_MESSAGES:
        return None
    gaps = messages - 1
    total = squares = 0.0
    last: float | None = None
    for number, count in enumerate(buckets):
        if not count:
            continue
        step = 1 / count
        first = number + step / 2
        if last is not None:
            total += first - last
            squares += (first - last) ** 2
        total += (count - 1) * step
        squares += (count - 1) * step * step
        last = first + (count - 1) * step
    mean = total / gaps
    spread = sqrt(max(squares / gaps - mean * mean, 0.0)) / mean
    up, down = sqrt(gaps + 1), sqrt(gaps - 1)
    return max(0.0, -((up * spread - down) / ((up - 2) * spread + down)))
