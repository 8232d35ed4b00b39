"""What is usual: the median of days with any, and what one large day or a slow rise makes of it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.limits.usual import GROWTH, LEAST_DAYS, account_past

DAYS = st.lists(st.integers(0, 10**9), min_size=14, max_size=14)


@pytest.mark.parametrize(
    ("days", "usual", "age"),
    [
        ([0] * 14, None, 0),
        ([0] * 13 + [900], None, 0),  # today is no earlier day
        ([0] * 9 + [5, 5, 5, 5, 900], None, 4),  # four days make no ordinary one
        ([0] * 8 + [5, 5, 5, 5, 5, 900], 5, 5),
        ([10] * 14, 10, 13),
        ([0, 7, 0, 7, 0, 7, 0, 7, 0, 7, 0, 7, 0, 0], 7, 12),  # every other day
        ([20, 20, 20, 20, 20, 0, 0, 20, 20, 20, 20, 20, 5_000, 3], 20, 13),  # one large day
        ([1, 10_000, 10_000, 10_000, 10_000, 0, 0, 0, 0, 0, 0, 0, 0, 0], 9, 13),  # 1 3 9 27 81
        ([0, 0, 0, 1, 1, 1, 1, 1, 900, 900, 900, 900, 900, 0], 2, 10),  # five of 1, 3 9 27 81 243
    ],
)
def test_usual_days(days: list[int], usual: float | None, age: int) -> None:
    assert account_past(days)[:2] == (usual, age)


@given(DAYS)
def test_usual_lies_within_what_was(days: list[int]) -> None:
    some = [amount for amount in days[:-1] if amount]
    usual, age, _ = account_past(days)
    assert (usual is None) == (len(some) < LEAST_DAYS)
    assert 0 <= age <= 13
    if usual is not None:
        assert min(some) <= usual <= max(some)


@given(DAYS, st.integers(0, 10**9))
def test_today_changes_nothing(days: list[int], today: int) -> None:
    assert account_past(days).usual == account_past([*days[:-1], today]).usual


@given(DAYS, st.integers(0, 12), st.integers(0, 10**9))
def test_one_day_more_moves_a_median_by_no_more_than_its_neighbour(
    days: list[int], at: int, amount: int
) -> None:
    """One day of a stolen password, however large, leaves usual within what other days were."""
    flooded = [*days[:at], days[at] + amount, *days[at + 1 :]]
    others = [day for number, day in enumerate(days[:-1]) if day and number != at]
    usual = account_past(flooded).usual
    if usual is not None and len(others) >= 2:
        assert usual <= max(others)


@given(st.integers(1, 1_000), st.integers(1, 10**9))
def test_a_day_counts_for_three_times_the_largest_before_it(first: int, flood: int) -> None:
    usual = account_past([first, *[flood] * 12, 0]).usual
    assert usual is not None
    assert usual <= first * GROWTH**6 or usual <= first


def test_the_order_of_days_that_are_alike_does_not_matter() -> None:
    days = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]
    chance = random.Random(4)
    for _ in range(50):
        chance.shuffle(days)
        assert account_past([*days, 0]).usual == 16
