"""Totals of records, most of which were read a moment ago.

A record that is read often changes at its end only: the writer adds to its last cell, or appends one. So what is remembered
are the totals of all cells but the last, and the last one is added; a record of one cell needs nothing but that. The rest
is decoded as `decode.py` does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.counters import decode
from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, DAY_BIT, absolute
from oborona.counters.rows import NOTHING, Row, add_cell, first_window, first_window_of_day
from oborona.counters.window import bucket_of, day_of

REMEMBERED: Final = 4096  # records; about 6 MB
PLACE_SHIFT: Final = BUCKET_SHIFT - 1  # the place on the ring and the day bit
OUTSIDE: Final = -1


class Remembered:
    """Totals of records without their last cells, as they were when last read.

    Args:
        limit: records remembered; all are dropped when there are more, and when a bucket ends.
    """

    __slots__ = ("_bucket", "_limit", "_rows", "_windows")

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._bucket = 0
        self._rows: dict[bytes, Row] = {}
        self._windows: dict[int, int] = {}  # place on the ring and day bit → the first window that holds it

    def totals(self, records: Sequence[bytes], now: float) -> list[Row]:
        """Return [record][Window][Metric]; NOTHING for empty records, the others are the caller's to change."""
        bucket = bucket_of(now)
        if bucket != self._bucket or len(self._rows) > self._limit:
            self._rows = {b"": NOTHING}
            self._windows = {}
            self._bucket = bucket
        rows = list(map(self._row, records))
        missing = [place for place, row in enumerate(rows) if row is None]
        if missing:
            starts = [records[place][:-CELL_BYTES] for place in missing]
            self._rows.update(zip(starts, decode.totals(starts, now), strict=True))
        for place in missing:
            rows[place] = self._row(records[place])
        return [row for row in rows if row is not None]

    def _row(self, record: bytes) -> Row | None:
        """Return the totals of a record; None if those of its beginning are not remembered."""
        if not record:
            return NOTHING
        start = self._rows.get(record[:-CELL_BYTES])
        if start is None:
            return None
        cell = int.from_bytes(record[-CELL_BYTES:], "little")
        first = self._windows.get(cell >> PLACE_SHIFT)
        if first is None:
            first = self._window(cell)
        row = [window[:] for window in start]
        if first != OUTSIDE:
            add_cell(row, cell, first)
        return row

    def _window(self, cell: int) -> int:
        bucket = absolute(cell >> BUCKET_SHIFT, self._bucket)
        if cell & DAY_BIT:
            first = first_window_of_day(day_of(bucket), self._bucket)
        else:
            first = first_window(bucket, self._bucket)
        self._windows[cell >> PLACE_SHIFT] = found = OUTSIDE if first is None else first
        return found
