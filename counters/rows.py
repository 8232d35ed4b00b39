"""The windows of one shingle as plain lists, and adding to them.

A read has tens of them to touch, too few for arrays to be quicker.
"""

from __future__ import annotations

from typing import Final

from oborona.counters.buffer import FIELD, FIELD_BITS
from oborona.counters.window import BUCKETS, DAYS, METRICS, SATURATED, day_of
from oborona.types import Metric, Window

Row = list[list[int]]
"""[Window][Metric]"""

NOTHING: Final[Row] = [
    [0] * METRICS for _ in Window
]  # of every shingle that counted nothing: not to be changed
SEEN: Final = int(Metric.SEEN)


def first_window(bucket: int, last: int) -> int | None:
    """Return the smallest window that holds a ten-minute bucket when `last` is the current one."""
    age = last - bucket
    if age >= 0:
        for window, length in BUCKETS.items():
            if age < length:
                return int(window)
    return first_window_of_day(day_of(bucket), last)


def first_window_of_day(day: int, last: int) -> int | None:
    """Return the smallest window that holds a whole day when `last` is the current ten-minute
    bucket.
    """
    return int(Window.FORTNIGHT) if day_of(last) - DAYS < day <= day_of(last) else None


def with_packed(row: Row, packed: int, first: int) -> Row:
    """Return a row with a sum of `buffer.py` added to the window `first` and those that hold it."""
    row = [window[:] for window in row]
    if row[-1][SEEN] + packed <= SATURATED:  # seen, and nothing else: nearly all of them
        for window in row[first:]:
            window[SEEN] += packed
        return row
    metric = 0
    while packed:
        _add(row, first, metric, packed & FIELD)
        packed >>= FIELD_BITS
        metric += 1
    return row


def without_packed(row: Row, packed: int, first: int) -> Row:
    """Return a row with a sum of `buffer.py` taken from the window `first` and those that hold it.

    It may go below zero.
    """
    row = [window[:] for window in row]
    metric = 0
    while packed:
        _add(row, first, metric, -(packed & FIELD))
        packed >>= FIELD_BITS
        metric += 1
    return row


def from_zero(row: Row) -> Row:
    """Return a row as it is read: what is below zero is zero."""
    if min(map(min, row)) >= 0:
        return row
    return [[max(count, 0) for count in window] for window in row]


def _add(row: Row, first: int, metric: int, count: int) -> None:
    for window in row[first:]:
        window[metric] = min(window[metric] + count, SATURATED)
