"""Bars of a chart, as numbers for its picture and its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

HEIGHT: Final = 100.0
WIDTH: Final = 600.0
LEAST: Final = 1.0  # of what is there at all: one that is seen


class ChartBar(msgspec.Struct, frozen=True):
    """A part of a column: its place, and the number of its series."""

    x: float
    y: float
    width: float
    height: float
    series: int


class BarChart(msgspec.Struct, frozen=True, kw_only=True):
    """A chart of columns, in each the series on top of each other.

    Args:
        heads: names of the series, translated.
        labels: of the columns.
        values: of each column, one for each series.
        bars: what is drawn.
        most: the tallest column.
    """

    heads: list[str]
    labels: list[str]
    values: list[list[float]]
    bars: list[ChartBar]
    most: float
    width: float = WIDTH
    height: float = HEIGHT


def bar_chart(
    heads: Sequence[str], labels: Sequence[str], values: Sequence[Sequence[float]]
) -> BarChart:
    """Return a chart for the macro `m.bars`.

    Args:
        heads: names of the series, translated; the first is at the bottom.
        labels: of the columns, such as their times.
        values: of each column, one for each series, not below zero.
    """
    most = max((sum(column) for column in values), default=0.0)
    step = WIDTH / max(len(values), 1)
    bars = []
    for number, column in enumerate(values):
        top = HEIGHT
        for series, value in enumerate(column):
            if value > 0:
                height = max(value / most * HEIGHT, LEAST)
                top -= height
                bars.append(
                    ChartBar(
                        round(number * step, 2),
                        round(top, 2),
                        round(step * 0.85, 2),
                        round(height, 2),
                        series,
                    )
                )
    return BarChart(
        heads=list(heads),
        labels=list(labels),
        values=[list(column) for column in values],
        bars=bars,
        most=most,
    )
