"""What a verdict counts, and what is left of it when it was wrong."""

from __future__ import annotations

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.policy.accounting import record_verdict, undo_verdict
from oborona.types import Action, CountedPieces, Shingle, UniquePair, Verdict, Window

NOON = 20_000 * 86_400 + 43_200.0
SHINGLES = (Shingle(8, 1), Shingle(14, 2))
PIECES = CountedPieces(
    shingles=SHINGLES, pairs=(UniquePair(both=Shingle(30, 3), distinct=Shingle(31, 4)),)
)


def verdict(action: Action) -> Verdict:
    return Verdict(action=action, score=120.0, line=100.0, decided_by="MASS_TEXT")


@pytest.mark.parametrize("action", [Action.ACCEPT, Action.SPAM, Action.REJECT])
async def test_a_verdict_that_was_wrong_leaves_what_was_seen(action: Action) -> None:
    counters, right = MemoryCounters(), MemoryCounters()
    record_verdict(PIECES, verdict(action), counters, now=NOON)
    record_verdict(PIECES, verdict(Action.SPAM), counters, now=NOON)
    record_verdict(PIECES, verdict(Action.ACCEPT), right, now=NOON)
    record_verdict(PIECES, verdict(Action.SPAM), right, now=NOON)
    undo_verdict(SHINGLES, action, counters, NOON)
    asked = [*SHINGLES, *PIECES.pairs[0]]
    for now in (NOON, NOON + 86_400):
        assert await counters.read(asked, now) == await right.read(asked, now)
        assert await counters.timelines(asked, now) == await right.timelines(asked, now)
    [row, *_] = await counters.read(asked, NOON)
    assert row[Window.DAY][:2] == [2, 1]


async def test_what_was_put_off_counted_nothing_and_nothing_is_taken_back() -> None:
    counters = MemoryCounters()
    undo_verdict(SHINGLES, Action.TEMPFAIL, counters, NOON)
    record_verdict(PIECES, verdict(Action.SPAM), counters, now=NOON)
    [row, *_] = await counters.read(SHINGLES, NOON)
    assert row[Window.DAY][:2] == [1, 1]
