"""Axes of charts: every value stands on them, and few have a name."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from oborona.eventlog.report.axis import (
    MOST_TIMES,
    ChartAxis,
    count_axis,
    named_times,
    share_axis,
    time_axis,
)
from oborona.eventlog.report.span import span_of


@example(5e-324, 0.0)
@example(2.3e-308, 1.0)
@given(st.one_of(st.floats(0, 1e15), st.integers(0, 2**63)), st.floats(0, 1))
def test_each_value_stands_on_its_axis(top: float, part: float) -> None:
    for axis in (count_axis(top), share_axis(top / 1e15), time_axis([top * part, top])):
        assert 2 <= len(axis.lines) <= 11
        values = [value for value, _ in axis.lines]
        assert values == sorted(set(values))
        assert len({name for _, name in axis.lines}) == len(axis.lines)
        assert all(0 <= axis.height(value) <= 1 for value in (0, top * part, top, *values))
    assert count_axis(top).lines[-1][0] >= top * 0.999


def test_a_place_on_an_axis() -> None:
    assert count_axis(0).lines == ((0.0, "0"), (1.0, "1"))
    assert [name for _, name in count_axis(90_000).lines] == ["0", "50 k", "100 k"]
    assert [name for _, name in share_axis(0.031).lines] == ["0 %", "1 %", "2 %", "3 %", "4 %"]
    assert [name for _, name in time_axis([4.0, 90.0]).lines] == [
        *("1 s", "10 s", "1 min", "10 min"),
    ]
    assert ChartAxis(((0.0, "0"), (4.0, "4"))).height(1) == 0.25
    assert time_axis([1.0, 100.0]).height(1.0) == 0.0


@given(st.integers(1, 3660), st.floats(1e9, 4e9))
def test_few_times_have_a_name(days: int, now: float) -> None:
    named = named_times(span_of(days, now))
    assert 2 <= len(named) <= MOST_TIMES + 1
