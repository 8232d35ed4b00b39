"""When events happened: moments, and the half hours and days they belong to, UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from oborona.eventlog.slots import DAY_S, SLOT_S, delivered_at
from oborona.eventlog.tables.checksum import row_hashes

UNKNOWN: Final = "unknown"
"""The slot of events without a time, before 2000, or more than a day ahead."""
NEVER: Final = 1 << 62
"""The moment of an event whose time can't be right: behind all others, so that it makes no other
event a duplicate.
"""
_FIRST_S: Final = 946_684_800  # 2000: no log has earlier events
_MICRO: Final = 1_000_000
_UNKNOWN: Final = -1


class Period(NamedTuple):
    """A kind of table by event time."""

    name: str  # of its folder
    column: str  # of its partitions
    seconds: int
    form: str  # of a slot's name

    def slot(self, moment: float) -> str:
        """Return the name of the slot that a time is in.

        Args:
            moment: Unix seconds.
        """
        start = moment // self.seconds * self.seconds
        return datetime.fromtimestamp(start, UTC).strftime(self.form)


DAY: Final = Period("1d", "date", 86_400, "%Y-%m-%d")
PERIODS: Final = (Period("30min", "slot", 1800, "%Y-%m-%dT%H:%M"), DAY)


class SlotShare(NamedTuple):
    """The part of a table that belongs to one slot."""

    slot: str
    rows: int
    checksum: int  # 64 bits


def moments(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the time of each row in microseconds; `NEVER` where it can't be right.

    Args:
        table: of a log.
        name: of the table, which tells when it was delivered.
    """
    last = (delivered_at(name) + SLOT_S + DAY_S) * _MICRO
    told = pc.fill_null(table.column("time").cast(pa.int64()), NEVER)
    right = pc.and_(pc.greater_equal(told, _FIRST_S * _MICRO), pc.less_equal(told, last))
    return pc.if_else(right, told, NEVER)


def slots_of(table: pa.Table, name: str, period: Period) -> list[str]:
    """Return the slot of each row of a table.

    Args:
        table: of a log.
        name: of the table.
        period: whose slots.
    """
    starts, places = np.unique(_starts(table, name, period), return_inverse=True)
    names = np.array([_name(start, period) for start in starts.tolist()], object)
    return list(names[places]) if len(places) else []


def shares(table: pa.Table, name: str, period: Period) -> list[SlotShare]:
    """Return how many rows of a table each slot has, and their checksum."""
    starts, places = np.unique(_starts(table, name, period), return_inverse=True)
    sums = np.zeros(len(starts), np.uint64)
    np.add.at(sums, places, row_hashes(table))
    counts = np.bincount(places, minlength=len(starts))
    return [
        SlotShare(_name(start, period), int(count), int(total))
        for start, count, total in zip(starts.tolist(), counts, sums, strict=True)
    ]


def _starts(table: pa.Table, name: str, period: Period) -> npt.NDArray[np.int64]:
    told: npt.NDArray[np.int64] = moments(table, name).to_numpy()
    seconds = period.seconds
    return np.where(told == NEVER, _UNKNOWN, told // _MICRO // seconds * seconds)


def _name(start: int, period: Period) -> str:
    return UNKNOWN if start == _UNKNOWN else period.slot(start)
