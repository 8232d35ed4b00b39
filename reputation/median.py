"""Median and spread of a few numbers: what most of them are like, whatever a few of them do."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

OF_NORMAL: Final = 1.4826  # median distance → standard deviation of a normal distribution


class MedianSpread(NamedTuple):
    """What most of some numbers are like."""

    middle: float  # the median
    spread: float  # the median distance from it, as a standard deviation


def median_spread(numbers: Sequence[float]) -> MedianSpread:
    """Return the median of some numbers, and how far from it they lie; at least one.

    Fewer than half of them, however large, move neither without bound.
    """
    middle = median(numbers)
    return MedianSpread(middle, OF_NORMAL * median([abs(number - middle) for number in numbers]))
