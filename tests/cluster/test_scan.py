"""A scan uses what a store knows that does not know all, and says so."""

from __future__ import annotations

from collections.abc import Sequence

from oborona.counters.window import Timeline
from oborona.errors import StorePartial
from oborona.message.shingles import Type
from oborona.policy.known import asked
from oborona.policy.settling import read_known
from oborona.types import Metric, Pieces, Prefix, Shingle, Window


class Half:
    """Knows the first shingle alone."""

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN
    ) -> list[list[list[int]]]:
        known, unknown = [[7] * len(Metric)] * len(Window), [[0] * len(Metric)] * len(Window)
        raise StorePartial("a node is away", [known, *(unknown for _ in shingles[1:])])

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN
    ) -> list[Timeline]:
        raise AssertionError("who has read a part asks for no more")


async def test_counts_that_are_known_are_used_and_the_rest_is_a_fault() -> None:
    pieces = Pieces(shingles=(Shingle(Type.SUBJECT, 1), Shingle(Type.FROM, 2)), pairs=())
    known, faults = await read_known(Half(), asked(pieces), 0.0, frozenset({Type.SUBJECT}))
    assert known.count(Type.SUBJECT, Window.DAY, Metric.SEEN) == 7
    assert known.count(Type.FROM, Window.DAY, Metric.SEEN) == 0
    assert faults == ("counters: a node is away",)
