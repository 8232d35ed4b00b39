"""Whether a log brings as many rows as it used to.

The rows delivered in the last hour are held against those of the same hour on the seven days
before:

    far  =  |rows - median|  >  max(5 * 1.4826 * MAD, median / 2)

The median and the median absolute deviation do not move for one odd day (Rousseeuw and Croux
1993; 1.4826 makes the latter a standard deviation where days are normal), and weekends are part of
the spread. Less than half of the usual is never called far, for a log of which all days are alike.
A log of few rows is let be.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from oborona.eventlog.batch.store import SourceTable

HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0
DAYS: Final = 7
VOLUME_S: Final = DAYS * DAY_S + HOUR_S  # that is looked back
LEAST_DAYS: Final = 3  # that a log must have had tables for before anything is usual
LEAST_ROWS: Final = 1000  # an hour, now or usually
SPREADS: Final = 5.0
SHARE: Final = 0.5
NORMAL: Final = 1.4826


class RowVolume(NamedTuple):
    """Rows of an hour, and what is usual then."""

    rows: int
    usual: float

    @property
    def share(self) -> float:
        """Rows of what is usual; infinite where nothing is."""
        return self.rows / self.usual if self.usual else float("inf")


def odd_volume(tables: Sequence[SourceTable], now: float) -> RowVolume | None:
    """Return the rows of the last hour where they are far from usual.

    Args:
        tables: of a log, delivered within `VOLUME_S`; others don't count.
        now: Unix seconds.
    """
    if not tables:
        return None
    first = min(one.delivered for one in tables)
    hours = [
        sum(one.rows for one in tables if ends - HOUR_S < one.delivered <= ends)
        for ends in (now - day * DAY_S for day in range(DAYS + 1))
        if first <= ends - HOUR_S
    ]
    if len(hours) <= LEAST_DAYS:
        return None
    return far_from_usual(hours[0], hours[1:])


def far_from_usual(rows: int, before: Sequence[int]) -> RowVolume | None:
    """Return the rows of an hour where they are far from those of the same hour on days before."""
    usual = median(before)
    spread = NORMAL * median(abs(one - usual) for one in before)
    far = abs(rows - usual) > max(SPREADS * spread, SHARE * usual)
    return RowVolume(rows, usual) if far and max(rows, usual) >= LEAST_ROWS else None
