"""Which hours have far from as many rows as usual."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.eventlog.row_volume import LEAST_ROWS, RowVolume, far_from_usual


@pytest.mark.parametrize(
    ("rows", "before", "far"),
    [
        (2_000, [2_000] * 7, False),
        (1_001, [2_000] * 7, False),  # half of the usual is let be, however alike days are
        (999, [2_000] * 7, True),
        (3_001, [2_000] * 7, True),
        (0, [2_000] * 7, True),
        (900, [2_000, 2_000, 2_000, 2_000, 2_000, 50, 40], True),  # two odd days move nothing
        (500, [2_000, 1_900, 2_100, 1_950, 900, 600, 2_050], True),
        (900, [2_000, 1_400, 2_600, 1_700, 900, 600, 2_400], False),  # days differ as much
        (999, [0] * 7, False),  # few rows
        (1_000, [0] * 7, True),
    ],
)
def test_hours(rows: int, before: list[int], far: bool) -> None:
    assert (far_from_usual(rows, before) is not None) is far


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**9), min_size=3, max_size=7))
def test_what_is_told_is_far_and_not_small(rows: int, before: list[int]) -> None:
    found = far_from_usual(rows, before)
    if found is not None:
        assert max(found.rows, found.usual) >= LEAST_ROWS
        assert not 0.5 <= found.share <= 1.5
    assert far_from_usual(before[0], [before[0]] * len(before)) is None


def test_a_share_of_nothing_is_infinite() -> None:
    assert RowVolume(1, 0.0).share == float("inf")
