"""Waves: sudden against usual."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.daemon.alarm.waves import (
    DAY_SLOTS,
    MOST_STREAMS,
    NOW_SLOTS,
    SLOT_S,
    Wave,
    WaveDetector,
)

NOW = 1_795_170_000.0


def test_many_at_once_are_a_wave_told_once() -> None:
    waves = WaveDetector(least=50, times=5)
    assert waves.add("moved", 49, NOW) is None
    found = waves.add("moved", 1, NOW + 60)
    assert found == Wave("moved", 50, 0.0, (NOW + 60) // SLOT_S * SLOT_S - (NOW_SLOTS - 1) * SLOT_S)
    assert all(waves.add("moved", 100, NOW + 60 + second) is None for second in range(600))


def test_when_it_is_over_another_may_come() -> None:
    waves = WaveDetector(least=50, times=5)
    assert waves.add("moved", 60, NOW)
    assert waves.add("moved", 1, NOW + 3600) is None
    assert waves.add("moved", 60, NOW + 3660)


def test_what_every_day_has_is_no_wave() -> None:
    waves = WaveDetector(least=50, times=5)
    for minute in range(DAY_SLOTS):
        waves.add("moved", 10, NOW + minute * 60)  # 100 in ten minutes
    end = NOW + DAY_SLOTS * 60
    assert waves.add("moved", 200, end) is None
    found = waves.add("moved", 300, end + 60)
    assert found is not None
    assert 90 < found.usual <= 100


def test_streams_do_not_know_each_other_and_are_bounded() -> None:
    waves = WaveDetector(least=2, times=2)
    for number in range(MOST_STREAMS + 10):
        assert waves.add(f"campaign {number}", 1, NOW) is None
    assert len(waves._streams) == MOST_STREAMS
    assert waves.add(f"campaign {MOST_STREAMS}", 1, NOW), "a recent one is known"
    assert waves.add("campaign 0", 1, NOW) is None, "the oldest is forgotten"


_ADDS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 40)), max_size=30)


@settings(max_examples=100, deadline=None)
@given(_ADDS, st.integers(1, 200))
def test_below_the_least_there_is_never_a_wave(adds: list[tuple[int, int]], least: int) -> None:
    """A wave has at least `least` within ten minutes, counted here anew, whatever the order of
    times.
    """
    waves = WaveDetector(least=least, times=3)
    counted: dict[int, int] = {}
    newest = 0
    for minute, count in adds:
        newest = max(newest, minute)
        counted[minute] = counted.get(minute, 0) + count
        found = waves.add("x", count, NOW + minute * 60)
        level = sum(number for slot, number in counted.items() if slot > newest - NOW_SLOTS)
        if found is not None:
            assert found.level == level >= least
            assert level >= 3 * found.usual


@settings(max_examples=100, deadline=None)
@given(_ADDS)
def test_five_at_once_and_one_five_times_are_the_same(adds: list[tuple[int, int]]) -> None:
    at_once, by_one = WaveDetector(least=20, times=3), WaveDetector(least=20, times=3)
    for minute, count in sorted(adds):
        found = at_once.add("x", count, NOW + minute * 60)
        singly = [by_one.add("x", 1, NOW + minute * 60) for _ in range(count)]
        if count:
            assert (found is None) == all(one is None for one in singly)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=60), st.integers(1, 30))
def test_a_wave_is_told_once_as_long_as_it_lasts(counts: list[int], step: int) -> None:
    """What begins, lasts and ends is counted here anew, out of all that was added."""
    waves = WaveDetector(least=10, times=2)
    lasts = 0.0
    for number, count in enumerate(counts):
        now = number * step
        past = {place * step: each for place, each in enumerate(counts[: number + 1])}
        level = sum(each for minute, each in past.items() if minute > now - NOW_SLOTS)
        day = sum(
            each
            for minute, each in past.items()
            if now - NOW_SLOTS - DAY_SLOTS < minute <= now - NOW_SLOTS
        )
        line = max(10, 2 * day * NOW_SLOTS / DAY_SLOTS)
        if level - count < max(lasts, line) / 2:
            lasts = 0.0
        found = waves.add("x", count, NOW + now * 60)
        assert (found is not None) == (not lasts and level >= line)
        if found is not None:
            lasts = line


def test_it_is_cheap() -> None:
    """A day of a busy stream keeps no more than its minutes."""
    waves = WaveDetector(least=10**9, times=2)
    for second in itertools.islice(range(0, 3 * 86_400, 61), 1_600):
        waves.add("x", 1, NOW + second)
    assert len(waves._streams["x"]._counts) <= DAY_SLOTS + NOW_SLOTS
