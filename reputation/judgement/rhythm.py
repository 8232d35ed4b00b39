"""How machine-like an entity's sending rhythm is, and whether it ever pauses.

    value        `regularity` of the 144 ten-minute buckets of the last day: 1 like a clock, 0 at
                 random or in bursts
    confidence   n / (n + 50) for n messages of that day; 0 for fewer than MIN_MESSAGES

`quiet_share` lays the day on a circle: the length of the mean of all messages' directions is 1 when
they come at one hour and 0 when they come round the clock (Fisher 1993, Statistical analysis of
circular data, 2.3.1).  Neither makes anybody good or bad: most robots are honest, and people who
send in bursts may be robbers.  They are said, and rules may ask for them beside other things.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, pi, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.timeline import BUCKETS, EntityHistory

MIN_MESSAGES: Final = 8  # seven gaps: fewer say nothing of a rhythm
ENOUGH: Final = 50.0  # messages that are worth as much as knowing nothing
CLOCK: Final = 0.9  # a rhythm worth a word
NEVER_ASLEEP: Final = 0.1  # mean direction of who sends round the clock

Counts = Sequence[int] | npt.NDArray[np.float64]

_HOURS: Final = np.arange(BUCKETS) * (2 * pi / BUCKETS)
_COSINES: Final = np.cos(_HOURS)
_SINES: Final = np.sin(_HOURS)


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return how regularly its mail came in the last day."""
    came = past.came
    regular, messages = regularity(came), past.day.seen
    if regular is None:
        return HistoryMeasure("rhythm", 0.0, 0.0)
    parts = []
    if regular >= CLOCK:
        parts.append("like a clock")
    if messages >= ENOUGH and quiet_share(came) <= NEVER_ASLEEP:
        parts.append("round the clock")
    return HistoryMeasure("rhythm", regular, messages / (messages + ENOUGH), ", ".join(parts))


def quiet_share(buckets: Counts) -> float:
    """Return how much of a day its mail leaves out: 1 for mail of one moment, 0 round the clock, or
    for none.

    Args:
        buckets: messages in each ten minutes of a day.
    """
    counts = np.asarray(buckets, np.float64)
    messages = float(counts.sum())
    if not messages:
        return 0.0
    return hypot(float(counts @ _COSINES), float(counts @ _SINES)) / messages


def regularity(buckets: Counts) -> float | None:
    """Return how regular a flow is: 1 like a clock, 0 at random or in bursts.

    None for fewer than MIN_MESSAGES messages.

    It is the burstiness of the gaps between messages, turned round and cut at 0: r = (their
    standard deviation) / (their mean) gives B = (sqrt(n+1) r - sqrt(n-1)) / ((sqrt(n+1) - 2) r +
    sqrt(n-1)) for n gaps, -1 for equal ones, 0 at random, towards 1 for bursts. Within a bucket
    messages are taken as evenly spread, because the counters do not know better; so whatever sends
    many in every bucket, day and night, is regular.

    Args:
        buckets: messages in each of the ten minutes, oldest first.

    Source: Goh and Barabasi, Burstiness and memory in complex systems, EPL 81 (2008) 48002; for few
        events: Kim and Jo, Measuring
    burstiness for finite event sequences, Phys. Rev. E 94 (2016) 032311, equation 22.
    """
    counts = np.asarray(buckets, np.float64)
    messages = float(counts.sum())
    if messages < MIN_MESSAGES:
        return None
    gaps = messages - 1
    places = np.flatnonzero(counts)
    counts = counts[places]
    steps = 1 / counts
    first = places + steps / 2
    last = first + (counts - 1) * steps
    between = first[1:] - last[:-1]
    squares = float(between @ between + (counts - 1) @ (steps * steps))
    mean = float(last[-1] - first[0]) / gaps
    spread = sqrt(max(squares / gaps - mean * mean, 0.0)) / mean
    up, down = sqrt(gaps + 1), sqrt(gaps - 1)
    return max(0.0, -((up * spread - down) / ((up - 2) * spread + down)))
