"""The sketch of the heaviest keys, held against exact weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.counters import heavy_hitters
from oborona.counters.batch import KEYS, Cells, Keys
from oborona.counters.batch_sums import sorted_order
from oborona.counters.heavy_hitters import LEAST, NOTE_ROOM, HeavyHitters, hashes_of
from oborona.counters.record import KEY, cells
from oborona.types import Amounts, Metric

from .conftest import NOON

DAY = 86_400.0
IN_FROM = 0x010E  # prefix and type of a key
OUT_FROM = 0x020E
ROUNDING = 1e-9

Gains = Mapping[tuple[int, int], Amounts]
"""By head and hash"""


def summed(gains: Gains) -> tuple[Keys, Cells, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """As the writer's batches add up: keys, their cells one behind the other, where each key's
    begin.
    """
    parts = [np.frombuffer(cells(gains[key], 7), "<u8") for key in sorted(gains)]
    keys = np.array(sorted(gains), dtype=KEYS)
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return keys, np.concatenate([np.empty(0, np.uint64), *parts]), starts.astype(np.intp)


def feed_counts(
    sketch: HeavyHitters, hashes: np.ndarray[tuple[int], np.dtype[np.uint64]], now: float
) -> None:
    """Feed one `seen` for each hash, as often as it comes."""
    distinct, counts = np.unique(hashes, return_counts=True)
    keys = np.zeros(len(distinct), dtype=KEYS)
    keys["head"], keys["hash"] = IN_FROM, distinct
    assert counts.max() <= 127, "one cell a key"
    sketch.feed(keys, counts.astype(np.uint64), np.arange(len(distinct) + 1), now)


class Exact:
    """Every weight, in a dictionary."""

    def __init__(self) -> None:
        self.weights: dict[tuple[int, Metric], dict[int, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        self.now: float | None = None

    def feed(self, gains: Gains, now: float) -> None:
        factor = 0.5 ** ((now - self.now) / DAY) if self.now is not None else 1.0
        self.now = now
        for ours in self.weights.values():
            for hash_ in ours:
                ours[hash_] *= factor
        for (head, hash_), amounts in gains.items():
            for metric, amount in zip(Metric, amounts, strict=True):
                if amount:
                    self.weights[head, metric][hash_] += amount


def check_bound(sketch: HeavyHitters, exact: Exact, room: int, slack: float = 0.0) -> None:
    """A weight is never too large, and too small by no more than a (room + 1)-th of what was not
    kept of the total.
    """
    for (head, metric), ours in exact.weights.items():
        kept = sketch.weights(head, metric)
        total = sum(ours.values())
        assert len(kept) <= room
        assert list(kept.values()) == sorted(kept.values(), reverse=True)
        missing = (total - sum(kept.values())) / (room + 1)
        for hash_, weight in ours.items():
            assert kept.get(hash_, 0.0) <= weight * (1 + ROUNDING)
            assert weight - kept.get(hash_, 0.0) <= missing + total * ROUNDING + slack
            if weight > total / (room + 1) + total * ROUNDING + slack:
                assert hash_ in kept


KEYS_ASKED = [
    (head, hash_) for head in (IN_FROM, OUT_FROM) for hash_ in (*range(9), 2**63, 2**64 - 1)
]
amount = st.sampled_from([0, 1, 1, 1, 2, 3, 7, 100, 128, 2**40])
gained = st.dictionaries(
    st.sampled_from(KEYS_ASKED),
    st.tuples(amount, amount)
    .filter(any)
    .map(lambda both: Amounts(seen=both[0], complaints=both[1])),
    max_size=12,
)


@settings(max_examples=200)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, 3600.0, DAY / 2, DAY]), gained), max_size=8
    ),
    room=st.integers(1, 6),
    asked=st.sets(st.integers(0, 7)),
)
def test_the_bound_holds_for_any_gains_at_any_times(
    steps: list[tuple[float, Gains]], room: int, asked: set[int]
) -> None:
    sketch, exact = HeavyHitters(room), Exact()
    now = NOON
    for number, (elapsed, gains) in enumerate(steps):
        now += elapsed
        sketch.feed(*summed(gains), now)
        exact.feed(gains, now)
        if number in asked:  # asking settles, and so prunes at other moments
            check_bound(sketch, exact, room, slack=LEAST * (number + 1))
    check_bound(sketch, exact, room, slack=LEAST * (len(steps) + 1))


@settings(max_examples=100)
@given(
    before=st.lists(gained, max_size=6),
    after=st.lists(gained, max_size=6),
    room=st.integers(1, NOTE_ROOM),
)
def test_the_bound_holds_through_notes(before: list[Gains], after: list[Gains], room: int) -> None:
    sketch, exact = HeavyHitters(room), Exact()
    for gains in before:
        sketch.feed(*summed(gains), NOON)
        exact.feed(gains, NOON)
    restored = HeavyHitters(room)
    for head, metric, note in sketch.notes():
        assert hashes_of(note) == list(sketch.weights(head, metric))
        restored.restore(head, metric, note)
    for gains in after:
        restored.feed(*summed(gains), NOON)
        exact.feed(gains, NOON)
    total = max((sum(ours.values()) for ours in exact.weights.values()), default=0.0)
    # weights of notes have 24 bits
    check_bound(restored, exact, room, slack=LEAST * 16 + total * 1e-6)


def test_a_heavy_key_outlives_a_flood_that_comes_just_when_it_is_weakest() -> None:
    room, number = 16, 0
    sketch, exact = HeavyHitters(room), Exact()
    for step in range(400):
        gains = {(IN_FROM, 5): Amounts(seen=2)} if step % 2 == 0 else {}
        for _ in range(room // 2):  # never seen again, each as heavy as what is left of the other
            number += 1
            gains[IN_FROM, 1000 + number] = Amounts(seen=1)
        for one in range(0, len(gains), 5):
            part = dict(list(gains.items())[one : one + 5])
            sketch.feed(*summed(part), NOON)
            exact.feed(part, NOON)
            assert len(sketch.weights(IN_FROM, Metric.SEEN)) <= room
    check_bound(sketch, exact, room)
    assert 5 in sketch.weights(IN_FROM, Metric.SEEN)


def test_the_heaviest_of_a_long_tail_are_found() -> None:
    """Six in ten seen once and the rest by Zipf's law, as mail is.

    Three types of them would not fit what is kept.
    """
    random = np.random.default_rng(20_261_120)
    sketch = HeavyHitters()
    exact: dict[int, int] = defaultdict(int)
    for step in range(100):
        known = random.zipf(1.1, 2000).astype(np.uint64) % np.uint64(10**6)
        fresh = random.integers(10**6, 2**63, 3000).astype(np.uint64)
        for hash_ in known.tolist():
            exact[hash_] += 1
        order = random.permutation(5000)
        for part in np.array_split(np.concatenate([known, fresh])[order], 5):
            distinct = np.unique(part, return_counts=True)[1].max()
            for some in np.array_split(part, int(distinct) // 128 + 1):
                feed_counts(sketch, some, NOON + step)
    found = sketch.weights(IN_FROM, Metric.SEEN)
    heaviest = sorted(exact, key=lambda hash_: -exact[hash_])
    assert list(found)[:10] == heaviest[:10]
    assert set(heaviest[:100]) <= set(found)
    assert all(found[hash_] >= exact[hash_] * 0.99 for hash_ in heaviest[:10])


def test_many_steps_settle_by_themselves_and_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy_hitters, "WAITING", 500)
    sketch, exact = HeavyHitters(20), Exact()
    random = np.random.default_rng(7)
    for step in range(200):
        gains = {(IN_FROM, int(one)): Amounts(seen=1) for one in random.integers(0, 60, 15)}
        sketch.feed(*summed(gains), NOON + step)
        exact.feed(gains, NOON + step)
        assert sum(len(part.heads) for part in sketch._parts[Metric.SEEN]) <= 500 + 20 + 15
    check_bound(sketch, exact, 20)


def test_a_weight_halves_in_a_day() -> None:
    sketch = HeavyHitters()
    sketch.feed(*summed({(IN_FROM, 1): Amounts(seen=1000)}), NOON)
    for hour in range(1, 49):
        sketch.feed(*summed({}), NOON + hour * 3600)
    sketch.feed(*summed({(IN_FROM, 2): Amounts(seen=251)}), NOON + 2 * DAY)
    assert sketch.weights(IN_FROM, Metric.SEEN) == pytest.approx({2: 251, 1: 250})


def test_a_clock_that_jumps_costs_a_halving_and_one_that_is_set_back_nothing() -> None:
    sketch = HeavyHitters()
    sketch.feed(*summed({(IN_FROM, 1): Amounts(seen=1000)}), NOON)
    sketch.feed(*summed({(IN_FROM, 2): Amounts(seen=3)}), NOON + 1000 * DAY)
    sketch.feed(*summed({(IN_FROM, 2): Amounts(seen=3)}), NOON)
    assert sketch.weights(IN_FROM, Metric.SEEN) == pytest.approx({1: 500, 2: 6})


def test_what_is_over_fifteen_days_old_goes_and_years_pass() -> None:
    sketch = HeavyHitters()
    sketch.feed(*summed({(IN_FROM, 1): Amounts(seen=1)}), NOON)
    for day in range(1, 16):
        sketch.feed(*summed({(IN_FROM, 2): Amounts(seen=8)}), NOON + day * DAY)
    assert set(sketch.weights(IN_FROM, Metric.SEEN)) == {1, 2}
    for day in range(16, 1100):
        sketch.feed(*summed({(IN_FROM, 2): Amounts(seen=8)}), NOON + day * DAY)
    assert sketch.weights(IN_FROM, Metric.SEEN) == pytest.approx({2: 16})


def test_prefixes_types_and_metrics_keep_apart() -> None:
    sketch = HeavyHitters(2)
    sketch.feed(
        *summed({(IN_FROM, 1): Amounts(1, 2, 3, 4, 5, 6), (OUT_FROM, 1): Amounts(traps=2**63 - 1)}),
        NOON,
    )
    assert [sketch.weights(IN_FROM, metric) for metric in Metric] == [
        {1: n} for n in (1, 2, 3, 4, 5, 6)
    ]
    assert sketch.weights(OUT_FROM, Metric.TRAPS) == pytest.approx({1: 2**63})
    assert sketch.weights(OUT_FROM, Metric.SEEN) == {}


def test_a_forgotten_key_begins_at_nothing() -> None:
    sketch = HeavyHitters()
    sketch.feed(
        *summed({(IN_FROM, 1): Amounts(seen=9, spam=9), (IN_FROM, 2): Amounts(seen=8)}), NOON
    )
    sketch.feed(*summed({(OUT_FROM, 1): Amounts(seen=7)}), NOON)
    sketch.forget([KEY.pack(1, 14, 1)])
    assert sketch.weights(IN_FROM, Metric.SPAM) == {}
    sketch.feed(*summed({(IN_FROM, 1): Amounts(seen=1)}), NOON)
    assert sketch.weights(IN_FROM, Metric.SEEN) == {2: 8, 1: 1}
    assert sketch.weights(OUT_FROM, Metric.SEEN) == {1: 7}


def test_a_note_fits_a_page_and_has_the_heaviest() -> None:
    sketch = HeavyHitters()
    sketch.feed(*summed({(IN_FROM, one): Amounts(seen=one + 1) for one in range(300)}), NOON)
    [(head, metric, note)] = sketch.notes()
    assert (head, metric) == (IN_FROM, Metric.SEEN)
    assert hashes_of(note) == list(range(299, 299 - NOTE_ROOM, -1))
    assert len(note) < 2000


def test_a_damaged_note_is_refused_whole() -> None:
    sketch = HeavyHitters()
    sketch.feed(*summed({(IN_FROM, one): Amounts(seen=one) for one in (1, 2, 3)}), NOON)
    [(head, metric, note)] = sketch.notes()
    restored = HeavyHitters()
    damaged = [note[:at] + bytes([note[at] ^ 1]) + note[at + 1 :] for at in range(len(note))]
    for wrong in [b"", note[:-1], note + b"\0", note[:-12], *damaged]:
        with pytest.raises(ValueError, match="no note"):
            restored.restore(head, metric, wrong)
        with pytest.raises(ValueError, match="no note"):
            hashes_of(wrong)
    assert restored.weights(head, metric) == {}
    assert list(HeavyHitters().notes()) == []


def test_keys_are_put_in_order_as_the_store_does() -> None:
    heads = np.array([2, 1, 1, 2], np.uint16)
    hashes = np.array([1, 9, 3, 0], np.uint64)
    assert sorted_order(heads, hashes).tolist() == [2, 1, 3, 0]
