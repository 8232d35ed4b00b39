"""The count that a number of rows reach, for each window and metric.

How much the values of a fingerprint have in common is told by the count that enough of them reach
(`oborona.policy.counts`).
"""

from __future__ import annotations

from collections.abc import Sequence

from oborona.counters.rows import Row
from oborona.counters.window import METRICS, SATURATED
from oborona.types import Window


def reached_counts(rows: Sequence[Row], number: int, /) -> Row:
    """Return [window][Metric] with the count that so many of some rows reach.

    The windows are those of `RuleWindow`: behind a row's own what it has in two weeks and not in
    the last day.  The twin of the native core's.

    Args:
        rows: of one message, as they were read; a list.
        number: of rows that must reach it, 1 and up to as many as there are.

    Raises:
        ValueError: there are not so many.
    """
    if not 1 <= number <= len(rows):
        raise ValueError("there are not so many rows")
    windows = [[list(map(_bounded, row[window])) for row in rows] for window in Window]
    day, fortnight = windows[Window.DAY], windows[Window.FORTNIGHT]
    windows.append(
        [
            [_bounded(max(0, long - short)) for long, short in zip(whole, last, strict=True)]
            for whole, last in zip(fortnight, day, strict=True)
        ]
    )
    return [
        [
            sorted((counts[metric] for counts in window), reverse=True)[number - 1]
            for metric in range(METRICS)
        ]
        for window in windows
    ]


def _bounded(count: int) -> int:
    return max(min(count, SATURATED), -SATURATED - 1)
