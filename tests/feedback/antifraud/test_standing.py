"""How far a person is believed, and how often they may speak."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.feedback.antifraud.model import NEWCOMER, DailyThresholds, PersonRecord
from oborona.feedback.antifraud.standing import (
    DAY_S,
    LEAST,
    PROVEN,
    is_newcomer,
    is_proven,
    only_pardons,
    weight_of,
)
from oborona.feedback.antifraud.thresholds import COMPLAINTS, FLOORS, PARDONS, daily_thresholds

NOW = 1_780_000_000.0
COUNTS = st.lists(st.integers(0, 5000), max_size=400)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_weight_grows_by_being_right_and_shrinks_faster_by_being_wrong(
    right: float, wrong: float
) -> None:
    weight = weight_of(right, wrong)
    assert 0 < weight < 1 or math.isclose(weight, 1)
    assert weight_of(right + 1, wrong) >= weight >= weight_of(right, wrong + 1)
    assert weight_of(0, 1) < weight_of(0, 0) - (weight_of(1, 0) - weight_of(0, 0)) / 2


def test_of_whom_nothing_is_known_ten_make_a_consensus_and_trust_takes_six_campaigns() -> None:
    assert weight_of(0, 0) == NEWCOMER
    assert weight_of(5, 0) < PROVEN <= weight_of(6, 0)
    assert weight_of(0, 3) < LEAST <= weight_of(0, 2)


def test_standing_takes_time() -> None:
    known = PersonRecord(first=NOW - 29 * DAY_S, right=50, weight=weight_of(50, 0))
    assert not is_proven(known, NOW)
    assert is_proven(known, NOW + DAY_S)
    assert not is_proven(PersonRecord(weight=1.0), NOW)
    assert is_newcomer(PersonRecord(), NOW)
    assert is_newcomer(PersonRecord(first=NOW - 13.9 * DAY_S), NOW)
    assert not is_newcomer(PersonRecord(first=NOW - 14 * DAY_S), NOW)
    assert only_pardons(PersonRecord(pardons=9))
    assert not only_pardons(PersonRecord(pardons=9, complaints=1))


@pytest.mark.parametrize(
    "of_each", [[], [0, 0], [1] * 5, [19], [500], [1, 1, 2, 500, 3], [300] * 19]
)
def test_a_small_site_or_a_few_heavy_users_move_nothing(of_each: list[int]) -> None:
    found = daily_thresholds(of_each, of_each)
    assert (found.complaints, found.pardons) == (FLOORS.complaints, FLOORS.pardons)


def test_a_site_where_all_people_get_much_spam_hears_more() -> None:
    found = daily_thresholds([number % 9 + 4 for number in range(1000)], [1] * 300)
    assert 30 <= found.complaints <= 40
    assert (found.pardons, found.people) == (10, 1000)


def test_robots_in_the_majority_raise_it_step_by_step_up_to_a_limit_and_not_for_long() -> None:
    robots, last, seen = [500] * 4000 + [1] * 1000, FLOORS, []
    for _ in range(5):
        last = daily_thresholds(robots, robots, last)
        seen.append((last.complaints, last.pardons))
    assert seen == [(40, 20), (80, 40), (100, 50), (100, 50), (100, 50)]
    assert daily_thresholds([1] * 1000, [1] * 1000, last).complaints == 20


@given(COUNTS, COUNTS, st.floats(20, 100), st.floats(10, 50))
def test_thresholds_stay_within_their_limits_whatever_the_order(
    complaints: list[int], pardons: list[int], before: float, before_pardons: float
) -> None:
    last = DailyThresholds(complaints=before, pardons=before_pardons, people=1)
    found = daily_thresholds(complaints, pardons, last)
    assert COMPLAINTS[0] <= found.complaints <= min(COMPLAINTS[1], 2 * before)
    assert PARDONS[0] <= found.pardons <= min(PARDONS[1], 2 * before_pardons)
    assert daily_thresholds(complaints[::-1], sorted(pardons), last) == found
