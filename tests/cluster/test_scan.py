"""A scan uses what a store knows that does not know all, and says so."""

from __future__ import annotations

from collections.abc import Sequence

from oborona.counters.window import Timeline
from oborona.errors import StorePartial
from oborona.message.shingles import ShingleType
from oborona.policy.accounting import read_counts
from oborona.policy.counts import shingles_to_read
from oborona.types import CountedPieces, CounterPrefix, Metric, Shingle, Window


class Half:
    """Knows the first shingle alone."""

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[list[list[int]]]:
        known, unknown = [[7] * len(Metric)] * len(Window), [[0] * len(Metric)] * len(Window)
        raise StorePartial("a node is away", [known, *(unknown for _ in shingles[1:])])

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        raise AssertionError("who has read a part asks for no more")


async def test_counts_that_are_known_are_used_and_the_rest_is_a_fault() -> None:
    pieces = CountedPieces(
        shingles=(Shingle(ShingleType.SUBJECT, 1), Shingle(ShingleType.FROM, 2)), pairs=()
    )
    known, faults = await read_counts(
        Half(), shingles_to_read(pieces), 0.0, frozenset({ShingleType.SUBJECT})
    )
    assert known.count(ShingleType.SUBJECT, Window.DAY, Metric.SEEN) == 7
    assert known.count(ShingleType.FROM, Window.DAY, Metric.SEEN) == 0
    assert faults == ("counters: a node is away",)
