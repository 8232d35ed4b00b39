"""Counters in a dictionary: for tests, and for scoring files without a store.

Everything is kept by its own ten-minute bucket and added up when asked: slow, whole, and obviously
right. It is what the other stores are held against. Nothing outlives the process.
"""

from __future__ import annotations

from collections.abc import Sequence

from oborona.counters import window
from oborona.counters.top import TOP_LIMIT, Ranks, ranked
from oborona.counters.window import METRICS, Timeline, bucket_of, day_of
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, Window


class MemoryCounters:
    """The contract of `policy.ports.Counters`, for one process."""

    def __init__(self) -> None:
        self._kept: dict[tuple[CounterPrefix, Shingle], dict[int, list[int]]] = {}

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[list[list[int]]]:
        """Return [shingle][Window][Metric] at `now`, zeros where nothing was counted."""
        return [window.totals(self._kept.get((prefix, shingle), {}), now) for shingle in shingles]

    async def read_add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> list[list[list[int]]]:
        """Count a message as `add` does; return what `read` of its shingles gave before."""
        before = await self.read(pieces.shingles, now, prefix)
        self.add(pieces, amounts, now, prefix)
        return before

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        """Return, for each shingle, 144 ten-minute buckets and 14 days up to `now`."""
        return [
            window.timeline(self._kept.get((prefix, shingle), {}), {}, now) for shingle in shingles
        ]

    async def top(
        self,
        shingle_type: int,
        metric: Metric,
        window: Window,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
        limit: int = TOP_LIMIT,
    ) -> Ranks:
        """Return the shingles of a type that counted most of a metric in a window at `now`,
        heaviest first.
        """
        ours = [
            shingle
            for where, shingle in self._kept
            if (where, shingle.type) == (prefix, shingle_type)
        ]
        return ranked(ours, await self.read(ours, now, prefix), metric, window, limit)

    def add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        """Count the shingles, and decide the unique pairs by the day of `now`.

        Raises:
            ValueError: an amount is below zero or above 2^63-1.
        """
        window.check(amounts)
        bucket = bucket_of(now)
        for pair in pieces.pairs:
            buckets = self._kept.get((prefix, pair.both), {})
            if not any(
                counts[Metric.SEEN] > 0
                for place, counts in buckets.items()
                if day_of(place) == day_of(bucket)
            ):
                self._count(pair.distinct, Amounts(seen=1), bucket, prefix)
            self._count(pair.both, Amounts(seen=1), bucket, prefix)
        for shingle in pieces.shingles:
            self._count(shingle, amounts, bucket, prefix)

    def take_back(
        self,
        shingles: Sequence[Shingle],
        amounts: Amounts,
        at: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        """Take back what was added to shingles at `at`.

        Raises:
            ValueError: an amount is below zero or above 2^49-1.
        """
        window.check_taken(amounts)
        for shingle in shingles:
            self._count(shingle, Amounts(*(-amount for amount in amounts)), bucket_of(at), prefix)

    def forget(
        self, shingle: Shingle, now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> None:
        """Forget what is counted under a shingle."""
        del now
        self._kept.pop((prefix, shingle), None)

    def _count(
        self, shingle: Shingle, amounts: Amounts, bucket: int, prefix: CounterPrefix
    ) -> None:
        counts = self._kept.setdefault((prefix, shingle), {}).setdefault(bucket, [0] * METRICS)
        for metric, amount in enumerate(amounts):
            counts[metric] += amount
