"""Moments and buckets, and when a clock is believed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from oborona.counters.clock import SteadyClock
from oborona.counters.window import SATURATED, add_up, bucket_of, day_of, timeline, totals


@pytest.mark.parametrize(
    ("now", "bucket"),
    [(0.0, 0), (599.999, 0), (600.0, 1), (-0.001, -1), (-600.0, -1), (-600.5, -2)],
)
def test_a_bucket_begins_at_its_second(now: float, bucket: int) -> None:
    assert bucket_of(now) == bucket


@pytest.mark.parametrize("bucket", [-144, -1, 0, 143, 144, 2_880_000])
def test_days_are_utc_days(bucket: int) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    moment = datetime.fromtimestamp(bucket * 600, UTC)
    assert day_of(bucket) == (moment - epoch).days


def test_sums_stop_at_the_limit() -> None:
    assert add_up([[SATURATED, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, SATURATED]]) == [
        SATURATED,
        2,
        0,
        0,
        0,
        SATURATED,
    ]


def test_a_day_kept_both_ways_adds_up_once() -> None:
    now = 100 * 86_400.0
    line = timeline({100 * 144: [1] * 6}, {100: [2] * 6, 87: [4] * 6, 86: [8] * 6}, now)
    assert line.days[13] == [3] * 6
    assert line.days[0] == [4] * 6
    assert line.buckets[143] == [1] * 6


def test_windows_hold_each_other() -> None:
    found = totals({bucket: [1] * 6 for bucket in range(5000)}, 4000 * 600.0)
    assert [one[0] for one in found] == [1, 6, 144, 13 * 144 + 144]


def test_a_clock_that_runs_is_believed() -> None:
    clock = SteadyClock(1000)
    assert all(clock.believes(bucket) for bucket in range(1000, 1300))
    assert clock.newest == 1299
    assert clock.believes(1299 + 144)
    assert clock.believes(1300)
    assert clock.newest == 1299 + 144


@pytest.mark.parametrize("jump", [145, 1_000_000, -300, -1_000_000])
def test_a_jump_is_believed_after_an_hour(jump: int) -> None:
    clock = SteadyClock(2_000_000)
    there = 2_000_000 + jump
    assert [clock.believes(there + more) for more in range(8)] == [False] * 6 + [True] * 2
    assert clock.newest == there + 7


def test_a_jump_that_is_taken_back_leaves_nothing() -> None:
    clock = SteadyClock(2_000_000)
    assert not clock.believes(2_060_000)
    assert clock.believes(2_000_001)
    assert not clock.believes(2_060_005)
    assert not clock.believes(2_060_010)
    assert clock.newest == 2_000_001


def test_a_clock_that_keeps_jumping_is_never_believed() -> None:
    clock = SteadyClock(0)
    assert not any(clock.believes(1000 * number) for number in range(1, 100))


def test_a_new_store_believes_the_first_clock_it_sees() -> None:
    assert SteadyClock().believes(-5)
