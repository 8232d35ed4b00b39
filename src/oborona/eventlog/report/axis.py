"""Axes of charts: where a value stands, and which values have a line and a name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from oborona.eventlog.report.span import HOUR_S, ReportSpan
from oborona.eventlog.slots import DAY_S

LINES: Final = 4  # that a chart has at least, where its values have a beginning at nothing
MOST_TIMES: Final = 8  # that have a name
_TIMES: Final = (
    *((0.1, "0.1 s"), (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min")),
    *((3600.0, "1 h"), (6 * 3600.0, "6 h"), (86_400.0, "1 d"), (7 * 86_400.0, "7 d")),
    *((30 * 86_400.0, "30 d"), (365 * 86_400.0, "1 y")),
)
_UNITS: Final = ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"))
_STEPS: Final = (
    HOUR_S,
    3 * HOUR_S,
    6 * HOUR_S,
    *(n * DAY_S for n in (1, 2, 4, 7, 14, 28, 56, 112)),
)
_LEAST_STEP: Final = 1e-9


class ChartAxis(NamedTuple):
    """An axis upwards."""

    lines: tuple[tuple[float, str], ...]  # values that have one, each with its name, least first
    is_logarithmic: bool = False

    def height(self, value: float) -> float:
        """Return where a value stands: 0 at the bottom, 1 at the top; none is outside."""
        low, high = self.lines[0][0], self.lines[-1][0]
        if self.is_logarithmic:
            part = math.log(max(value, low) / low) / math.log(high / low)
        else:
            part = (value - low) / (high - low)
        return min(max(part, 0.0), 1.0)


def count_axis(top: float) -> ChartAxis:
    """Return an axis of numbers from none to at least `top`."""
    step = max(_step(top / LINES), 1.0)
    return ChartAxis(tuple((value, _count(value)) for value in _values(top, step)))


def share_axis(top: float) -> ChartAxis:
    """Return an axis of shares from none to at least `top`."""
    step = max(_step(top / LINES), 1e-4)
    return ChartAxis(tuple((value, f"{value * 100:g} %") for value in _values(top, step)))


def time_axis(seconds: Sequence[float]) -> ChartAxis:
    """Return an axis of times on which each line is many times the one below: an outage of hours
    leaves delays of seconds to be seen.

    Args:
        seconds: that stand on it.
    """
    low, high = min(seconds, default=1.0), max(seconds, default=1.0)
    first = max(0, sum(value <= low for value, _ in _TIMES) - 1)
    last = max(first + 2, sum(value < high for value, _ in _TIMES))
    return ChartAxis(_TIMES[min(first, len(_TIMES) - 3) : last + 1], is_logarithmic=True)


def named_times(span: ReportSpan) -> list[tuple[int, str]]:
    """Return times of a span that have a name, Unix seconds; few enough to be read."""
    length = span.ends - span.first
    step = next((one for one in _STEPS if length <= MOST_TIMES * one), 364 * DAY_S)
    step = max(step, math.ceil(length / MOST_TIMES / DAY_S) * DAY_S) if step > 112 * DAY_S else step
    first = -(-span.first // step) * step
    return [(time, _name(time, step)) for time in range(first, span.ends, step)]


def _name(time: int, step: int) -> str:
    moment = datetime.fromtimestamp(time, UTC)
    if step < DAY_S and time % DAY_S:
        return moment.strftime("%H:%M")
    return moment.strftime("%m-%d" if step < 28 * DAY_S else "%Y-%m-%d")


def _step(least: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, 50 and so on."""
    if least < _LEAST_STEP:  # every axis has a larger one of its own
        return 0.0
    unit = 10.0 ** math.floor(math.log10(least))
    return next(part * unit for part in (1, 2, 5, 10, 20) if part * unit >= least * 0.999)


def _values(top: float, step: float) -> list[float]:
    return [place * step for place in range(max(1, math.ceil(top / step - 1e-9)) + 1)]


def _count(value: float) -> str:
    for unit, letter in _UNITS:
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
