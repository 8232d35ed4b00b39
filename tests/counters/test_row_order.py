"""The counts that rows reach are the same in the native core and in Python."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters import core as chosen
from oborona.counters.row_order import reached_counts
from oborona.counters.rows import NOTHING
from oborona.counters.window import METRICS, SATURATED
from oborona.types import Metric, RuleWindow, Window

core: Any = pytest.importorskip("oborona._core")

COUNTS = st.one_of(
    st.integers(0, 9),
    st.integers(-SATURATED - 1, SATURATED),
    st.integers(-(1 << 70), 1 << 70),  # no store has them, a damaged journal may
)
ROW = st.lists(
    st.lists(COUNTS, min_size=METRICS, max_size=METRICS),
    min_size=len(Window),
    max_size=len(Window),
)
ROWS = st.lists(ROW | st.just(NOTHING), min_size=1, max_size=9)


def test_it_is_in_use() -> None:
    assert chosen.reached_counts is core.reached_counts


@given(ROWS, st.data())
def test_counts_are_alike(rows: list[list[list[int]]], data: st.DataObject) -> None:
    number = data.draw(st.integers(1, len(rows)))
    assert core.reached_counts(rows, number) == reached_counts(rows, number)


def test_many_rows_are_alike() -> None:
    rows = [[[each * 37 % 101 + window] * METRICS for window in range(4)] for each in range(100)]
    for number in (1, 2, 64, 65, 99, 100):
        assert core.reached_counts(rows, number) == reached_counts(rows, number)


@pytest.mark.parametrize("read", [core.reached_counts, reached_counts])
def test_enough_rows_reach_the_count(read: Callable[..., list[list[int]]]) -> None:
    rows = [
        [[0] * METRICS, [0] * METRICS, [day] + [0] * 5, [fortnight] + [0] * 5]
        for day, fortnight in ((5, 9), (1, 8), (0, 3))
    ]
    row = read(rows, 2)
    assert row[Window.DAY][Metric.SEEN] == 1
    assert row[Window.FORTNIGHT][Metric.SEEN] == 8
    assert row[RuleWindow.EARLIER][Metric.SEEN] == 4, "of 4, 7 and 3: not 8 less 1"


WRONG: dict[str, tuple[object, object]] = {
    "rows that are none": (5, 1),
    "a tuple": ((NOTHING,), 1),
    "no row": ([], 1),
    "none of them": ([NOTHING], 0),
    "more than there are": ([NOTHING], 2),
    "a number below zero": ([NOTHING], -1),
    "a number that is a text": ([NOTHING], "1"),
    "a number beyond numbers": ([NOTHING], 1 << 80),
    "three windows": ([NOTHING[:3]], 1),
    "a row that is none": ([7], 1),
    "a window that is none": ([[7, 7, 7, 7]], 1),
    "a window of five": ([[[0] * 5] * 4], 1),
    "a count that is a text": ([[["1"] * 6] * 4], 1),
}


@pytest.mark.parametrize(("rows", "number"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_an_error(rows: object, number: object) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        core.reached_counts(rows, number)


def test_it_keeps_nothing() -> None:
    rows = [[[1000 + each] * METRICS for _ in Window] for each in range(70)]

    def work() -> None:
        for _ in range(300):
            core.reached_counts(rows, 20)
            core.reached_counts(rows, 66)
            for some, number in WRONG.values():
                with pytest.raises(Exception):  # noqa: B017 - each is tried above
                    core.reached_counts(some, number)

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 20_000, "300 rounds, and less than an octet of each call"
