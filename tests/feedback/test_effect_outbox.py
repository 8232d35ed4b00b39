"""What is counted beside words: each once for its mark, taken back from where it was counted, and
left alone when nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.counters.memory import MemoryCounters
from oborona.feedback.effect_outbox import CountedEffect, EffectOutbox, EffectRequest
from oborona.feedback.label_counter import KEPT_S, LabelCounter
from oborona.feedback.label_store import LabelStore
from oborona.types import Amounts, CountedPieces, CounterPrefix, Shingle, Window
from tests.feedback.words import NOW

PIECES = (Shingle(1, 2), Shingle(8, 2**63 + 1))


class Kept(MemoryCounters):
    """Counters in memory."""

    stuck = False

    def flush(self, now: float) -> int:
        return 1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LabelStore]:
    with LabelStore(tmp_path / state_files.FEEDBACK) as made:
        yield made


def of(counters: Kept, prefix: CounterPrefix = CounterPrefix.IN, now: float = NOW) -> Amounts:
    reading = counters.read(PIECES, now, prefix)
    try:
        reading.send(None)
    except StopIteration as ended:
        first, second = (Amounts(*row[Window.FORTNIGHT]) for row in ended.value)
        assert first == second
        return first
    raise AssertionError("a read waited")


def run(store: LabelStore, counters: Kept, now: float = NOW) -> None:
    counting = LabelCounter(counters)
    while counting.step(store, now):
        pass


def test_each_kind_counts_where_it_should_and_once_for_its_mark(store: LabelStore) -> None:
    effects, counters = EffectOutbox(store), Kept()
    counters.add(CountedPieces(shingles=PIECES, pairs=()), Amounts(seen=1, spam=1), NOW - 86_400)
    wanted = [
        EffectRequest(b"a", CountedEffect.READ, PIECES, None),
        EffectRequest(b"b", CountedEffect.DELETED, PIECES, None),
        EffectRequest(b"c", CountedEffect.FORGIVEN, PIECES, NOW - 86_400),
    ]
    for _ in range(2):
        effects.want(wanted)
        run(store, counters)
        assert of(counters) == Amounts(seen=1, reads=1)
        assert of(counters, CounterPrefix.DELETED) == Amounts(seen=1)
    assert effects.states(b"c") == {CountedEffect.FORGIVEN: (True, True)}
    effects.take_back([b"a", b"b", b"c"])
    run(store, counters, NOW + 3 * 86_400)
    assert of(counters) == Amounts(seen=1, spam=1)
    assert of(counters, CounterPrefix.DELETED) == Amounts()
    assert effects.states(b"c") == {}
    effects.want(wanted[2:])
    run(store, counters)
    assert of(counters) == Amounts(seen=1)


def test_what_is_taken_back_before_it_was_counted_never_is(store: LabelStore) -> None:
    effects, counters = EffectOutbox(store), Kept()
    effects.want(
        [
            EffectRequest(b"a", CountedEffect.READ, PIECES, None),
            EffectRequest(b"nothing", CountedEffect.READ, (), None),
        ]
    )
    effects.take_back([b"a"])
    run(store, counters)
    assert of(counters) == Amounts()
    assert store.rows("SELECT * FROM effect") == []


def test_what_is_in_doubt_is_left_as_it_is_and_forgotten_in_time(store: LabelStore) -> None:
    """Who is killed between the two notes: it may be counted or not, never twice."""
    effects, counters = EffectOutbox(store), Kept()
    effects.want([EffectRequest(b"a", CountedEffect.READ, PIECES, None)])
    assert len(effects.begin(9, NOW)) == 1
    effects.want([EffectRequest(b"a", CountedEffect.READ, PIECES, None)])
    run(store, counters)
    assert of(counters) == Amounts()
    assert effects.states(b"a") == {CountedEffect.READ: (True, None)}
    effects.take_back([b"a"])
    run(store, counters)
    assert of(counters) == Amounts()
    run(store, counters, NOW + KEPT_S + 1)
    assert store.rows("SELECT * FROM effect") == []
