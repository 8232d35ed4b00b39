"""Many packed records at once to window totals, as a scan reads them.

    join all cells of the records that have any → the ring place of each gives its class by table: 0
    RECENT, 1 rest of HOUR, 2 rest of DAY, 3 rest of FORTNIGHT, 4 outside → one weighted bincount
    over (record, class, metric) → running sum over classes

The table is made anew when the bucket of `now` changes. Sums are exact: they are doubles while no
cell is above level 5 (then under 2^53), and Python's own integers otherwise, as for cells that take
back. No cell is invalid here; `record.problem` judges stored ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.counters import record, window
from oborona.counters.window import (
    BUCKETS,
    BUCKETS_A_DAY,
    DAYS,
    METRICS,
    SATURATED,
    Timeline,
    bucket_of,
    day_of,
)
from oborona.types import Window

CLASSES: Final = len(Window)
OUTSIDE: Final = CLASSES
EXACT_LEVEL: Final = 5  # 127 * 128^5 < 2^42: two thousand such cells still add up below 2^53
SHIFTS: Final = np.arange(METRICS, dtype=np.uint64) * np.uint64(record.DIGIT_BITS)
COLUMNS: Final = np.arange(METRICS, dtype=np.intp)
DIGIT: Final = np.uint64(record.DIGIT)
LEVEL_SHIFT: Final = np.uint64(record.LEVEL_SHIFT)
LEVEL_MASK: Final = np.uint64(record.LEVEL)
PLACE_SHIFT: Final = np.uint64(record.BUCKET_SHIFT - 1)  # the place on the ring and the day bit
WEIGHT_BITS: Final = np.uint64(record.DIGIT_BITS)


def totals(records: Sequence[bytes], now: float) -> list[list[list[int]]]:
    """Return [record][Window][Metric]; zeros, the same lists for all of them, for empty records."""
    sums = signed_totals(records, now)
    if any(map(record.takes, records)):
        return [[[max(count, 0) for count in counts] for counts in windows] for windows in sums]
    return sums


def signed_totals(records: Sequence[bytes], now: float) -> list[list[list[int]]]:
    """Return what `totals` does, below zero where more is taken back than is there: more may come
    to it.
    """
    nothing = [[0] * METRICS for _ in Window]
    present = {place: packed for place, packed in enumerate(records) if packed}
    nested = [nothing] * len(records)
    for place, totals_of_one in zip(present, _totals(list(present.values()), now), strict=True):
        nested[place] = totals_of_one
    return nested


def _totals(records: list[bytes], now: float) -> list[list[list[int]]]:
    """Return [record][Window][Metric] of records that are not empty."""
    cells = np.frombuffer(b"".join(records), "<u8")
    if not len(cells):
        return []
    levels = levels_of(cells)
    if int(levels.max()) > EXACT_LEVEL:
        return [_exact(packed, now) for packed in records]
    counts = amounts(cells, levels)
    owners = np.repeat(
        np.arange(len(records)), [len(packed) // record.CELL_BYTES for packed in records]
    )
    groups = (
        owners * (CLASSES + 1) + _classes(bucket_of(now))[(cells >> PLACE_SHIFT).astype(np.intp)]
    )
    sums = np.bincount(
        (groups[:, None] * METRICS + COLUMNS).ravel(),
        weights=counts.ravel(),
        minlength=len(records) * (CLASSES + 1) * METRICS,
    )
    by_window = sums.astype(np.int64).reshape(len(records), CLASSES + 1, METRICS)[:, :CLASSES]
    nested: list[list[list[int]]] = by_window.cumsum(axis=1).tolist()
    return nested


def levels_of(cells: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return by what power of 128 each cell's digits are to be multiplied."""
    return cells >> LEVEL_SHIFT & LEVEL_MASK


def amounts(
    cells: npt.NDArray[np.uint64], levels: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return [cell][Metric], each 0..2^63-1.

    `levels` as `levels_of` gives them, none that takes back.
    """
    counts = cells[:, None] >> SHIFTS & DIGIT
    if levels.any():
        counts <<= (levels * WEIGHT_BITS)[:, None]
    return counts


def timeline(packed: bytes, now: float) -> Timeline:
    """Return the time-line of one record; zeros for an empty one."""
    buckets, days = _unfold(packed, now)
    return window.timeline(buckets, days, now)


@lru_cache(maxsize=2)
def _classes(last: int) -> npt.NDArray[np.intp]:
    """Return the class of every (ring place, day bit) while `last` is the current bucket."""
    table = np.full(2 * record.RING, OUTSIDE, dtype=np.intp)
    first_day = (day_of(last) - DAYS + 1) * BUCKETS_A_DAY
    fortnight = np.arange(first_day, first_day + DAYS * BUCKETS_A_DAY) % record.RING
    table[fortnight * 2] = Window.FORTNIGHT
    table[fortnight * 2 + 1] = Window.FORTNIGHT
    for kind in (Window.DAY, Window.HOUR, Window.RECENT):
        table[np.arange(last - BUCKETS[kind] + 1, last + 1) % record.RING * 2] = kind
    return table


def _unfold(octets: bytes, now: float) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    buckets: dict[int, list[int]] = {}
    days: dict[int, list[int]] = {}
    for day, bucket, counts in record.split(octets, bucket_of(now)):
        sums, place = (days, day_of(bucket)) if day else (buckets, bucket)
        have = sums.get(place)
        sums[place] = window.sum_metrics([have, counts]) if have else counts
    return buckets, days


def _exact(packed: bytes, now: float) -> list[list[int]]:
    buckets, days = _unfold(packed, now)
    fine = window.signed_totals(buckets, now)
    today = day_of(bucket_of(now))
    folded = [counts for day, counts in days.items() if today - DAYS < day <= today]
    sums = [*fine[: Window.FORTNIGHT], window.sum_metrics([fine[Window.FORTNIGHT], *folded])]
    return [[max(min(count, SATURATED), -SATURATED - 1) for count in counts] for counts in sums]
