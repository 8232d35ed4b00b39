"""Windows of counting: which bucket a moment falls into, and what a window adds up.

A bucket is 600 s or 86,400 s, numbered from the Unix epoch, so that day borders are UTC midnights
and neither summer time nor a time zone moves one. A leap second repeats a Unix second: both count
into the same bucket. Every count is kept once, by its ten-minute bucket; a day is the sum of its
144. Late and future moments need no special case here: a count belongs to the bucket of its own
     moment, and a read adds up the buckets that lie in its windows:

    RECENT, HOUR, DAY   the 1, 6, 144 ten-minute buckets up to the one of `now`; later ones are left
                        out
    FORTNIGHT           the 14 days up to the one of `now`; the current day counts whole, so after a
                        clock went back it also holds what was counted later that day

What is taken back is subtracted from the bucket it was counted in. Sums are read as 0 when more was
taken back than is there, and saturate at 2^63-1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from oborona.types import Metric, Window

BUCKET_S: Final = 600
DAY_S: Final = 86_400
BUCKETS_A_DAY: Final = DAY_S // BUCKET_S
BUCKETS: Final[Mapping[Window, int]] = {Window.RECENT: 1, Window.HOUR: 6, Window.DAY: BUCKETS_A_DAY}
DAYS: Final = 14  # of FORTNIGHT, and of the time-line
SATURATED: Final = 2**63 - 1  # fits every signed 64-bit column a count may be copied to
MOST_TAKEN: Final = 2**49 - 1  # in one go: seven digits of `record.py`
METRICS: Final = len(Metric)

Counts = Sequence[int]
"""[Metric]"""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What people draw: both windows bucket by bucket, oldest first, the current one last."""

    buckets: list[list[int]]  # 144 of ten minutes, each [Metric]
    days: list[list[int]]  # 14, each [Metric]


def bucket_of(now: float) -> int:
    """Return the number of the ten-minute bucket that holds `now`, Unix seconds.

    Negative before 1970.

    Raises:
        ValueError, OverflowError: `now` is not a finite number.
    """
    return int(now // BUCKET_S)


def day_of(bucket: int) -> int:
    """Return the number of the day that holds a ten-minute bucket."""
    return bucket // BUCKETS_A_DAY


def check(amounts: Counts) -> None:
    """Raise ValueError unless each amount is 0..2^63-1."""
    if min(amounts) < 0 or max(amounts) > SATURATED:
        raise ValueError(f"amounts are 0..2^63-1: {tuple(amounts)}")


def check_taken(amounts: Counts) -> None:
    """Raise ValueError unless each amount can be taken back: 0..2^49-1."""
    if min(amounts) < 0 or max(amounts) > MOST_TAKEN:
        raise ValueError(f"amounts to take back are 0..2^49-1: {tuple(amounts)}")


def sum_metrics(counts: Iterable[Counts]) -> list[int]:
    """Return the sum for each metric, as it is: what is taken back before it is added makes it
    negative.
    """
    totals = [0] * METRICS
    for row in counts:
        for metric, count in enumerate(row):
            totals[metric] += count
    return totals


def add_up(counts: Iterable[Counts]) -> list[int]:
    """Return the sum for each metric as it is read: not below zero, and saturated."""
    return [min(max(total, 0), SATURATED) for total in sum_metrics(counts)]


def totals(buckets: Mapping[int, Counts], now: float) -> list[list[int]]:
    """Return [Window][Metric] of counts kept by ten-minute bucket, as read at `now`."""
    return [add_up([counts]) for counts in signed_totals(buckets, now)]


def signed_totals(buckets: Mapping[int, Counts], now: float) -> list[list[int]]:
    """Return [Window][Metric] of counts kept by ten-minute bucket at `now`, sums as they are."""
    last = bucket_of(now)
    fine = [
        sum_metrics(counts for bucket, counts in buckets.items() if last - length < bucket <= last)
        for length in BUCKETS.values()
    ]
    today = day_of(last)
    return [
        *fine,
        sum_metrics(
            counts for bucket, counts in buckets.items() if today - DAYS < day_of(bucket) <= today
        ),
    ]


def timeline(buckets: Mapping[int, Counts], days: Mapping[int, Counts], now: float) -> Timeline:
    """Return the time-line at `now` from counts by ten-minute bucket and by day, whichever they are
    kept under.
    """
    last = bucket_of(now)
    today = day_of(last)
    by_day: dict[int, list[Counts]] = {}
    for bucket, counts in buckets.items():
        by_day.setdefault(day_of(bucket), []).append(counts)
    for day, counts in days.items():
        by_day.setdefault(day, []).append(counts)
    return Timeline(
        buckets=[
            add_up([buckets[bucket]]) if bucket in buckets else [0] * METRICS
            for bucket in range(last - BUCKETS_A_DAY + 1, last + 1)
        ],
        days=[add_up(by_day.get(day, [])) for day in range(today - DAYS + 1, today + 1)],
    )
