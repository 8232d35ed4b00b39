"""What was counted between two looks, and into which times it falls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oborona.stores.charts.differences import (
    MOST_SPREAD_S,
    ProcessCount,
    counted_since,
    differences,
    spread,
)

TIMES = st.floats(0, 4e9)
COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 1 << 53))


def look(counts: dict[str, int], *, pid: int = 7, time: float = 0.0) -> ProcessCount:
    return ProcessCount(pid=pid, time=time, counts=counts)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.integers(1, 50)), max_size=40))
def test_every_count_is_in_one_difference(steps: list[tuple[bool, str, int]]) -> None:
    """A process counts, is looked at after each step, and begins anew now and then."""
    pid, counts, before = 1, dict[str, int](), look({}, pid=1)
    told, found = dict[str, int](), dict[str, int]()
    for again, name, by in steps:
        if again:
            pid, counts = pid + 1, {}
        counts = {**counts, name: counts.get(name, 0) + by}
        told[name] = told.get(name, 0) + by
        now = look(counts, pid=pid)
        for one, number in differences(before, now).items():
            found[one] = found.get(one, 0) + number
        before = now
    assert found == told


@given(COUNTS, COUNTS, st.booleans())
def test_a_difference_is_more_than_nothing_and_never_more_than_the_number(
    old: dict[str, int], new: dict[str, int], same: bool
) -> None:
    found = differences(look(old), look(new, pid=7 if same else 8))
    assert all(0 < number <= new[name] for name, number in found.items())


def test_a_smaller_number_is_a_process_that_began_anew() -> None:
    assert differences(look({"a": 9, "b": 1}), look({"a": 3, "b": 5})) == {"a": 3, "b": 5}
    assert differences(look({"a": 9}), look({"a": 12}, pid=8)) == {"a": 12}
    assert differences(None, look({"a": 4, "b": 0})) == {"a": 4}


@given(st.integers(0, 1 << 53), TIMES, st.floats(0, MOST_SPREAD_S), st.sampled_from([600, 86_400]))
def test_a_count_is_spread_without_remainder(
    count: int, since: float, took: float, width: int
) -> None:
    parts = list(spread(count, since, since + took, width))
    assert sum(part for _, part in parts) == count
    assert all(part > 0 for _, part in parts)
    buckets = [bucket for bucket, _ in parts]
    assert buckets == sorted(set(buckets))
    assert all(since // width <= bucket <= (since + took) // width for bucket in buckets)


def test_a_count_is_spread_evenly() -> None:
    assert list(spread(30, 600, 2400, 600)) == [(1, 10), (2, 10), (3, 10)]
    assert list(spread(4, 1199, 1201, 600)) == [(1, 2), (2, 2)]
    assert list(spread(5, 700, 700, 600)) == [(1, 5)]


@given(TIMES, TIMES, TIMES, st.booleans())
def test_what_is_new_was_counted_before_it_was_told(
    before: float, now: float, quiet: float, same: bool
) -> None:
    since = counted_since(look({}, time=before), look({}, pid=7 if same else 8, time=now), quiet)
    assert now - MOST_SPREAD_S <= since <= now


def test_a_quiet_time_has_none_of_it() -> None:
    assert counted_since(look({}, time=100), look({}, time=5000), 4000) == 4000
    assert counted_since(look({}, time=100), look({}, time=5000), 0) == 100
    assert counted_since(None, look({}, time=5000), 0) == 5000
