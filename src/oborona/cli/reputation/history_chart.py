"""A past as people see it in a terminal: bars for the last 24 hours and for two weeks, a line for
each thing that happened.

Each line is scaled to its own highest bar, with the sum and that peak. Times are UTC, as the
buckets are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from rich.text import Text

from oborona.counters.timeline_chart import BARS, number
from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, DAY_S, bucket_of, day_of
from oborona.reputation.timeline import EntityHistory, TimelineBucket

TOGETHER: Final = 2  # buckets in a bar: 72 bars of 20 minutes
WIDE: Final = 5  # columns of a day's bar
LABELS: Final = {
    "seen": ("messages", "blue"),
    "spam": ("spam", "red"),
    "complaints": ("complaints", "red"),
    "traps": ("traps", "red"),
    "pardons": ("not-spam reports", "green"),
    "reads": ("read", "green"),
    "first": ("first contacts", "yellow"),
    "deleted": ("deleted unread", "yellow"),
    "recipients": ("recipients", "blue"),
    "refused": ("refused before", "magenta"),
}
"""What is drawn, in this order; recipients are new ones of their day."""
LABEL: Final = max(len(label) for label, _ in LABELS.values())


def picture(past: EntityHistory, now: float) -> Iterator[Text]:
    """Yield a past, line by line; what never happened has no line."""
    bucket = bucket_of(now)
    end = datetime.fromtimestamp((bucket + 1) * BUCKET_S, UTC)
    first_day = datetime.fromtimestamp((day_of(bucket) - len(past.days) + 1) * DAY_S, UTC)
    last_day = first_day + timedelta(days=len(past.days) - 1)
    yield Text(
        f"24 hours to {end:%Y-%m-%d %H:%M} UTC, {TOGETHER * BUCKET_S // 60} minutes a bar", "bold"
    )
    yield from _bars(past.buckets, TOGETHER, 1)
    yield _axis(f"{end:%H:%M}", f"{end:%H:%M}", BUCKETS_A_DAY // TOGETHER)
    yield Text("")
    yield Text(f"{len(past.days)} days to {last_day:%Y-%m-%d}", "bold")
    yield from _bars(past.days, 1, WIDE)
    yield _axis(f"{first_day:%d %b}", f"{last_day:%d %b}", len(past.days) * WIDE)


def _bars(series: Sequence[TimelineBucket], together: int, wide: int) -> Iterator[Text]:
    nothing = True
    for field, (label, colour) in LABELS.items():
        columns = [
            sum(getattr(bucket, field) for bucket in series[at : at + together])
            for at in range(0, len(series), together)
        ]
        peak = max(columns, default=0)
        if peak:
            nothing = False
            bars = "".join(BARS[-(-column * (len(BARS) - 1) // peak)] * wide for column in columns)
            line = Text(f"{label:<{LABEL}} ")
            line.append(bars, colour)
            line.append(f" {number(sum(columns)):>7} ^{number(peak)}")
            yield line
    if nothing:
        yield Text(f"{'nothing':<{LABEL}} {'.' * (len(series) // together * wide)}")


def _axis(left: str, right: str, length: int) -> Text:
    return Text(
        " " * (LABEL + 1) + left + right.rjust(max(length - len(left), len(right) + 1)), "dim"
    )
