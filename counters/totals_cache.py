"""Totals of records, most of which were read a moment ago.

A record that is read often changes at its end only: the writer adds to its last cell, or appends
one. So what is remembered are the totals of all cells but the last, and the last one is added.
Short records, of which each message brings others, are added up as they are, and most of them say
the same: seen once or twice, in one of the last buckets; the rest is decoded as `decode.py` does
it.

Sums are as they are: a record that is taken from before it is added to gives windows below zero,
and who reads it adds what else it knows before it takes those for zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from oborona.counters import decode
from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, DAY_BIT, absolute, takes, unpack
from oborona.counters.rows import NOTHING, Row, add_cell, first_window, first_window_of_day
from oborona.counters.window import bucket_of, day_of

REMEMBERED: Final = 8192  # keys; 8 MB when all are hot
SAYINGS: Final = 4096  # of short records, whoever's they are; 3 MB
PLACE_SHIFT: Final = BUCKET_SHIFT - 1  # the place on the ring and the day bit
OUTSIDE: Final = -1
FEW_BYTES: Final = (
    12 * CELL_BYTES
)  # of a record that is added up cell by cell sooner than arrays are made of it
UNKNOWN: Final[tuple[bytes, Row]] = (b"", NOTHING)


class TotalsCache:
    """Totals of records without their last cells, as they were when last read.

    Args:
        limit: keys remembered; when there are more, the older half is dropped, and all when a
            bucket ends.

    Attributes:
        signed: whether some totals since the bucket began may be below zero.
    """

    __slots__ = ("_bucket", "_limit", "_short", "_starts", "_windows", "signed")

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._bucket = 0
        self.signed = False
        # key → all cells but the last, and their totals
        self._starts: dict[bytes, tuple[bytes, Row]] = {}
        self._short: dict[bytes, Row] = {}  # a short record → its totals
        # place on the ring and day bit → the first window that holds it
        self._windows: dict[int, int] = {}

    def totals(self, keys: Sequence[bytes], records: Sequence[bytes], now: float) -> list[Row]:
        """Return [record][Window][Metric], not to be changed; NOTHING for empty records."""
        bucket = bucket_of(now)
        if bucket != self._bucket:
            self._starts, self._short, self._windows = {}, {}, {}
            self._bucket, self.signed = bucket, False
        elif len(self._starts) > self._limit:
            self._starts = dict(islice(self._starts.items(), self._limit // 2, None))
        rows = [NOTHING] * len(keys)
        short = self._short
        missing: list[int] = []
        for place, record in enumerate(records):
            if not record:
                continue
            if len(record) <= FEW_BYTES:
                rows[place] = short.get(record) or self._sum_record(record)
                continue
            cached, start = self._starts.get(keys[place], UNKNOWN)
            if len(cached) == len(record) - CELL_BYTES and record.startswith(cached):
                rows[place] = self._with_last(start, record)
            else:
                missing.append(place)
        if missing:
            begun = [records[place][:-CELL_BYTES] for place in missing]
            self.signed = self.signed or any(map(takes, begun))
            for place, cells, row in zip(
                missing, begun, decode.signed_totals(begun, now), strict=True
            ):
                self._starts.pop(keys[place], None)  # to be the newest again
                self._starts[keys[place]] = cells, row
                rows[place] = self._with_last(row, records[place])
        return rows

    def _sum_record(self, record: bytes) -> Row:
        """Return the totals of a short record."""
        row = [window[:] for window in NOTHING]
        windows = self._windows
        for cell in unpack(record):
            first = windows.get(cell >> PLACE_SHIFT)
            if first is None:
                first = self._window(cell)
            if first != OUTSIDE and add_cell(row, cell, first):
                self.signed = True
        if len(self._short) >= SAYINGS:
            self._short.clear()
        self._short[record] = row
        return row

    def _with_last(self, start: Row, record: bytes) -> Row:
        """Return the totals of a record, from those of all cells but the last."""
        row = [window[:] for window in start]
        cell = int.from_bytes(record[-CELL_BYTES:], "little")
        first = self._windows.get(cell >> PLACE_SHIFT)
        if first is None:
            first = self._window(cell)
        if first != OUTSIDE and add_cell(row, cell, first):
            self.signed = True
        return row

    def _window(self, cell: int) -> int:
        bucket = absolute(cell >> BUCKET_SHIFT, self._bucket)
        if cell & DAY_BIT:
            first = first_window_of_day(day_of(bucket), self._bucket)
        else:
            first = first_window(bucket, self._bucket)
        self._windows[cell >> PLACE_SHIFT] = found = OUTSIDE if first is None else first
        return found
