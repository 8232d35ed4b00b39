"""What the other stores of benchmarks/counters.py have in common: how they count, and how a read
adds up.

They keep `seen` alone, by ten-minute bucket and by day, so that an add counts twice; what has left
the windows stays. A read gives the four windows, as ours does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from oborona.counter_load.fill import KeySample, first_buckets
from oborona.counter_load.subject import StoreSize
from oborona.counter_load.workload import WHOLE_DAYS
from oborona.counters.window import BUCKETS, BUCKETS_A_DAY, DAYS, bucket_of, day_of
from oborona.types import Window

Seen = list[list[int]]
"""[shingle][Window] of `seen`"""

Slot = int
"""A ten-minute bucket, or minus a day"""


def sights(sample: KeySample, now: float) -> Iterator[tuple[bytes, Slot, int]]:
    """Yield (key, slot, seen) of a sample's history, by key: what lies in a bucket counts in its
    day as well.
    """
    firsts = first_buckets(now)[sample.slots]
    fine = sample.slots >= WHOLE_DAYS
    places = np.concatenate([sample.places[fine], sample.places])
    slots = np.concatenate([firsts[fine], -(firsts // BUCKETS_A_DAY)])
    counts = np.concatenate([sample.counts[fine], sample.counts])
    order = np.lexsort((slots, places))
    for (place, slot), same in groupby(
        zip(places[order].tolist(), slots[order].tolist(), counts[order].tolist(), strict=True),
        lambda one: one[:2],
    ):
        yield sample.keys[place], slot, sum(count for _place, _slot, count in same)


def windows(seen: dict[Slot, int], now: float) -> list[int]:
    """Return [Window] of one shingle."""
    last = bucket_of(now)
    today = day_of(last)
    totals = [0] * len(Window)
    for slot, count in seen.items():
        if slot < 0:
            totals[Window.FORTNIGHT] += count if today - DAYS < -slot <= today else 0
            continue
        for window, length in BUCKETS.items():
            totals[window] += count if last - length < slot <= last else 0
    return totals


def slots_of(now: float) -> tuple[Slot, Slot]:
    """Return the two that an add counts in."""
    bucket = bucket_of(now)
    return bucket, -day_of(bucket)


class AtOnce:
    """A watch on a store that has each flush when it returns."""

    def __init__(self, size: Callable[[], StoreSize]) -> None:
        self.size = size

    def applied(self, number: int) -> None:
        """There is nothing to wait for."""
