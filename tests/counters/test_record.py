"""The packed record: cells, their sums, tidying, and many of them decoded at once."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters import decode, record, window
from oborona.counters.record import CELL_BYTES, RING, TIDY_BYTES
from oborona.counters.window import MOST_TAKEN, SATURATED
from oborona.types import CounterPrefix, Metric, Shingle, Window

BUCKET = 2_880_072  # a day's noon
NOW = BUCKET * 600.0
counts = st.lists(
    st.one_of(st.integers(0, 200), st.integers(0, SATURATED), st.sampled_from([127, 128, 2**62])),
    min_size=6,
    max_size=6,
)
buckets = st.integers(BUCKET - 144 * 16, BUCKET + 300)
# further ahead is dropped when a record is tidied
believable = st.integers(BUCKET - 144 * 16, BUCKET + 144)


small = st.lists(
    st.one_of(st.integers(0, 200), st.sampled_from([127, 128, 2**14, 2**47])),
    min_size=6,
    max_size=6,
)


def held(stored: bytes, reference: int = BUCKET) -> dict[int, list[int]]:
    """Return what a record counts, by absolute bucket, saturated."""
    found: dict[int, list[int]] = {}
    for _day, bucket, one in record.split(stored, reference):
        found[bucket] = window.add_up([found.get(bucket, [0] * 6), one])
    return found


def test_a_single_sighting_costs_one_cell() -> None:
    assert len(record.cells([1, 0, 0, 0, 0, 0], BUCKET)) == CELL_BYTES


def test_nothing_costs_nothing() -> None:
    assert record.cells([0] * 6, BUCKET) == b""


def test_the_largest_counts_take_nine_cells_and_come_back() -> None:
    stored = record.cells([SATURATED] * 6, BUCKET)
    assert len(stored) == 9 * CELL_BYTES
    assert held(stored) == {BUCKET: [SATURATED] * 6}


def test_keys_sort_by_prefix_type_hash() -> None:
    places = [
        (prefix, Shingle(kind, number))
        for prefix in (CounterPrefix.IN, CounterPrefix.OUT)
        for kind in (1, 75)
        for number in (0, 255, 256, 2**64 - 1)
    ]
    keys = [record.key_of(shingle, prefix) for prefix, shingle in places]
    assert keys == sorted(keys)
    assert {len(key) for key in keys} == {10}


@given(counts, buckets, st.booleans())
def test_cells_hold_what_they_were_given(some: list[int], bucket: int, day: bool) -> None:
    stored = record.cells(some, bucket, day=day)
    assert held(stored) == ({bucket: some} if any(some) else {})
    assert (
        not stored or record.problem(record.key_of(Shingle(1, 1), CounterPrefix.IN), stored) == ""
    )


@given(st.lists(st.tuples(counts, buckets), max_size=40))
def test_a_record_is_the_sum_of_what_was_merged(adds: list[tuple[list[int], int]]) -> None:
    stored = b""
    want: dict[int, list[int]] = {}
    for some, bucket in adds:
        stored = record.merge(stored, record.cells(some, bucket), None)
        if any(some):
            want[bucket] = window.add_up([want.get(bucket, [0] * 6), some])
    assert held(stored) == want
    assert held(record.tidy(stored, None)) == want


def test_a_digit_that_overflows_starts_a_cell_and_its_neighbours_stay() -> None:
    full = record.cells([127, 3, 127, 0, 0, 127], BUCKET)
    one = record.cells([1, 0, 0, 0, 0, 0], BUCKET)
    assert len(record.add(full, one)) == 2 * CELL_BYTES
    assert held(record.add(full, one)) == {BUCKET: [128, 3, 127, 0, 0, 127]}
    other = record.cells([0, 5, 0, 9, 0, 0], BUCKET)
    assert len(record.add(full, other)) == CELL_BYTES
    assert held(record.add(full, other)) == {BUCKET: [127, 8, 127, 9, 0, 127]}


def test_a_hot_record_stays_small() -> None:
    stored = b""
    one = record.cells([1, 1, 0, 0, 0, 0], BUCKET)
    for _ in range(10_000):
        stored = record.merge(stored, one, BUCKET)
        assert len(stored) <= TIDY_BYTES + 3 * CELL_BYTES
    assert held(stored) == {BUCKET: [10_000, 10_000, 0, 0, 0, 0]}


def test_a_record_of_weeks_stays_within_its_windows_and_slack() -> None:
    stored = b""
    for bucket in range(BUCKET, BUCKET + 30 * 144):
        stored = record.merge(stored, record.cells([1, 0, 0, 0, 0, 0], bucket), bucket)
        assert len(stored) <= (150 + 2 * 15) * CELL_BYTES + TIDY_BYTES
    now = (BUCKET + 30 * 144 - 1) * 600.0
    [totals] = decode.totals([stored], now)
    assert [one[Metric.SEEN] for one in totals] == [1, 6, 144, 13 * 144 + 72]


def test_tidying_folds_a_day_and_drops_a_fortnight() -> None:
    ages = {0: 1, 149: 2, 150: 4, 14 * 144: 8, 16 * 144: 16, -144: 32, -145: 64}
    stored = b"".join(
        record.cells([amount, 0, 0, 0, 0, 0], BUCKET - age) for age, amount in ages.items()
    )
    kept = [
        (day, BUCKET - bucket, one[0])
        for day, bucket, one in record.split(record.tidy(stored, BUCKET), BUCKET)
    ]
    assert kept == [
        (True, 14 * 144 + 72, 8),
        (True, 144 + 72, 4),
        (False, 149, 2),
        (False, 0, 1),
        (False, -144, 32),
    ]


def test_a_record_out_of_every_window_tidies_to_nothing() -> None:
    assert record.tidy(record.cells([5] * 6, BUCKET - 16 * 144), BUCKET) == b""


@given(st.integers(0, 2**33), st.integers(-RING // 2, RING // 2 - 1))
def test_a_place_on_the_ring_is_plain_for_455_days_either_way(reference: int, away: int) -> None:
    bucket = reference - away
    assert record.absolute(bucket % RING, reference) == bucket


@given(
    st.lists(st.lists(st.tuples(counts, buckets), max_size=5), max_size=5), st.integers(-200, 200)
)
def test_many_decode_as_each_adds_up(many: list[list[tuple[list[int], int]]], later: int) -> None:
    now = NOW + later * 600
    records, want = [], []
    for adds in many:
        stored = b"".join(record.cells(some, bucket) for some, bucket in adds)
        records.append(stored)
        want.append(window.totals(held(stored), now))
    assert decode.totals(records, now) == want


@pytest.mark.parametrize("level", [5, 6])
def test_sums_are_exact_on_both_sides_of_the_level_where_doubles_end(level: int) -> None:
    odd = 127 * 128**level + 1
    records = [record.cells([odd, 1, 0, 0, 0, odd], BUCKET) + record.cells([2] * 6, BUCKET - 1)] * 2
    assert decode.totals(records, NOW)[1][Window.HOUR] == [odd + 2, 3, 2, 2, 2, odd + 2]


def test_day_cells_count_in_the_fortnight_alone() -> None:
    day = BUCKET // 144 * 144
    stored = record.cells([3] * 6, day, day=True) + record.cells([1] * 6, day - 13 * 144, day=True)
    stored += record.cells([9] * 6, day - 14 * 144, day=True)
    assert decode.totals([stored], NOW) == [[[0] * 6, [0] * 6, [0] * 6, [4] * 6]]
    assert (
        decode.totals([record.cells([2**62] * 6, day, day=True)], NOW)[0][Window.FORTNIGHT]
        == [2**62] * 6
    )


def test_a_day_is_seen_by_its_cells_of_either_kind() -> None:
    day = BUCKET // 144
    for stored in (
        record.cells([1, 0, 0, 0, 0, 0], BUCKET),
        record.cells([200] * 6, day * 144, day=True),
    ):
        assert record.seen_in_day(stored, day)
        assert not record.seen_in_day(stored, day - 1)
        assert not record.seen_in_day(stored, day + 1)
    assert not record.seen_in_day(record.cells([0, 1, 1, 1, 1, 1], BUCKET), day)
    assert not record.seen_in_day(b"", day)


@given(
    st.lists(st.integers(0, MOST_TAKEN), min_size=6, max_size=6),
    buckets,
    st.booleans(),
)
def test_cells_take_back_what_they_were_given(some: list[int], bucket: int, day: bool) -> None:
    stored = record.cells(some, bucket, day=day, taken=True)
    sums = window.sum_metrics(one for _day, _bucket, one in record.split(stored, BUCKET))
    assert sums == [-count for count in some]
    assert record.takes(stored) == any(some)
    assert (
        not stored or record.problem(record.key_of(Shingle(1, 1), CounterPrefix.IN), stored) == ""
    )


@given(
    kept=st.lists(st.tuples(small, believable), max_size=8),
    undone=st.lists(st.tuples(small, believable), max_size=8),
    order=st.randoms(use_true_random=False),
    believed=st.booleans(),
    later=st.integers(0, 20 * 144),
)
def test_what_is_added_and_taken_back_in_any_order_was_never_there(
    kept: list[tuple[list[int], int]],
    undone: list[tuple[list[int], int]],
    order: random.Random,
    believed: bool,
    later: int,
) -> None:
    deltas = [record.cells(some, bucket) for some, bucket in kept + undone]
    deltas += [record.cells(some, bucket, taken=True) for some, bucket in undone]
    order.shuffle(deltas)
    reference = BUCKET if believed else None
    stored = want = b""
    for delta in deltas:
        stored = record.merge(stored, delta, reference)
    for some, bucket in kept:
        want = record.merge(want, record.cells(some, bucket), reference)
    assert record.tidy(stored, BUCKET) == record.tidy(want, BUCKET)
    now = NOW + later * 600
    assert decode.totals([stored], now) == decode.totals([want], now)
    assert decode.timeline(stored, now) == decode.timeline(want, now)


@given(
    st.lists(st.tuples(small, buckets, st.booleans()), max_size=12),
    st.integers(-200, 15 * 144),
)
def test_nothing_is_read_below_zero_whatever_is_taken_back(
    changes: list[tuple[list[int], int, bool]], later: int
) -> None:
    stored = b""
    for some, bucket, taken in changes:
        stored = record.merge(stored, record.cells(some, bucket, taken=taken), BUCKET)
    now = NOW + later * 600
    [windows] = decode.totals([stored], now)
    line = decode.timeline(stored, now)
    assert min(min(one) for one in [*windows, *line.buckets, *line.days]) >= 0


def test_the_last_that_is_taken_back_leaves_no_record() -> None:
    one = record.cells([1, 1, 0, 0, 0, 0], BUCKET)
    folded = record.tidy(one, BUCKET + 200)
    back = record.cells([1, 1, 0, 0, 0, 0], BUCKET, taken=True)
    assert record.merge(one, back, BUCKET) == b""
    assert record.merge(one, back, None) == b""
    assert record.merge(folded, back, BUCKET + 200) == b""


def test_what_is_taken_back_hides_no_sighting_of_a_pair() -> None:
    stored = record.cells([1, 0, 0, 0, 0, 0], BUCKET)
    assert not record.seen_in_day(
        record.cells([1, 0, 0, 0, 0, 0], BUCKET, taken=True), BUCKET // 144
    )
    assert record.seen_in_day(
        stored + record.cells([0, 1, 0, 0, 0, 0], BUCKET, taken=True), BUCKET // 144
    )


@pytest.mark.parametrize(
    ("key", "stored", "why"),
    [
        (b"\1\1abcdefgh", b"", "whole cells"),
        (b"\1\1abcdefgh", b"1234567", "whole cells"),
        (b"\1\1abcdefgh", bytes(8), "counts nothing"),
        (b"\1\1abcdefgh", record.cells([1] * 6, 1, taken=True)[:7], "whole cells"),
        (b"\177\1abcdefgh", record.cells([1] * 6, 1), "key"),
        (b"\1\1abcdefghi", record.cells([1] * 6, 1), "key"),
    ],
)
def test_what_is_no_record_is_named(key: bytes, stored: bytes, why: str) -> None:
    assert why in record.problem(key, stored)
