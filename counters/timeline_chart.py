"""A time-line as people read it in a terminal: bars for a day of ten-minute buckets and for two
weeks of days.

Each metric that counted anything gets a line of bars, scaled to its own highest bar, with the total
and that peak. Buckets are put together until they fit the width; a column's number is their sum, so
totals stay true. Text only, no colours: it goes into tickets and logs as it is. Times are UTC, as
the buckets are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from oborona.counters.window import (
    BUCKET_S,
    BUCKETS_A_DAY,
    DAY_S,
    METRICS,
    Timeline,
    bucket_of,
    day_of,
)
from oborona.types import Metric

BARS: Final = " ▁▂▃▄▅▆▇█"
WIDTH: Final = 80
LEAST_WIDTH: Final = 60
LABEL: Final = max(len(metric.name) for metric in Metric)
NUMBER: Final = 9  # "999.9 M" and two spaces
UNITS: Final = ((10**18, " E"), (10**15, " P"), (10**12, " T"), (10**9, " G"), (10**6, " M"))


def picture(timeline: Timeline, now: float, title: str, *, width: int = WIDTH) -> str:
    """Return the time-line as lines of text, each at most `width` characters.

    Args:
        timeline: as read at `now`.
        now: Unix seconds.
        title: the first line; control characters are taken out, what is too long is cut.
        width: of the terminal, at least 60.

    Raises:
        ValueError: the width is under 60, or the time-line has not 144 + 14 entries.
    """
    if width < LEAST_WIDTH:
        raise ValueError(f"a picture needs {LEAST_WIDTH} columns, not {width}")
    bucket = bucket_of(now)
    if len(timeline.buckets) != BUCKETS_A_DAY:
        raise ValueError(f"a day has {BUCKETS_A_DAY} buckets, not {len(timeline.buckets)}")
    room = width - LABEL - 2 * NUMBER - 2
    together = next(size for size in (1, 2, 3, 4, 6, 8, 12, 24) if BUCKETS_A_DAY // size <= room)
    start = datetime.fromtimestamp((bucket - BUCKETS_A_DAY + 1) * BUCKET_S, UTC)
    end = datetime.fromtimestamp((bucket + 1) * BUCKET_S, UTC)
    first_day = datetime.fromtimestamp((day_of(bucket) - len(timeline.days) + 1) * DAY_S, UTC)
    last_day = first_day + timedelta(days=len(timeline.days) - 1)
    wide = max(1, min(room // len(timeline.days), 4))
    lines = [
        "".join(letter if letter.isprintable() else "?" for letter in title),
        "",
        f"day to {end:%Y-%m-%d %H:%M} UTC, {together * BUCKET_S // 60} minutes a bar",
        *_bars(timeline.buckets, together, 1),
        _axis(f"{start:%H:%M}", f"{end:%H:%M}", BUCKETS_A_DAY // together),
        "",
        f"{len(timeline.days)} days to {last_day:%Y-%m-%d}",
        *_bars(timeline.days, 1, wide),
        _axis(f"{first_day:%d %b}", f"{last_day:%d %b}", len(timeline.days) * wide),
    ]
    return "\n".join(line[:width].rstrip() for line in lines) + "\n"


def number(count: int) -> str:
    """Return a count in at most seven characters: exact below a million."""
    for unit, letter in UNITS:
        if count >= unit:
            return f"{count / unit:.1f}{letter}"
    return str(count)


def _bars(series: Sequence[Sequence[int]], together: int, wide: int) -> list[str]:
    lines = []
    for metric in range(METRICS):
        columns = [
            sum(bucket[metric] for bucket in series[at : at + together])
            for at in range(0, len(series), together)
        ]
        peak = max(columns)
        if peak:
            bars = "".join(BARS[_height(column, peak)] * wide for column in columns)
            label = Metric(metric).name.lower().ljust(LABEL)
            lines.append(
                f"{label} {bars} {number(sum(columns)):>{NUMBER - 2}} ^{number(peak):<{NUMBER - 1}}"
            )
    return lines or [f"{'nothing'.ljust(LABEL)} {'.' * (len(series) // together * wide)}"]


def _height(column: int, peak: int) -> int:
    """Eighths of the peak, rounded up: what is not zero is seen."""
    return -(-column * (len(BARS) - 1) // peak)


def _axis(left: str, right: str, length: int) -> str:
    return " " * (LABEL + 1) + left + right.rjust(max(length - len(left), len(right) + 1))
