"""Which days are to be gone over: those that somebody asks for, else those that are over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from oborona.eventlog.daily.book import DayPassBook, PassedDay
from oborona.eventlog.periods import DAY
from oborona.eventlog.slots import DAY_S
from oborona.eventlog.thresholds import LATE_S

AGAIN_DAYS: Final = 3  # that a day is gone over again where rows came late


class DueDays:
    """The days of one log that are to be gone over.

    Args:
        book: of passes.
        daily: each day is; else those alone that somebody asks for.
        clock: Unix seconds.
    """

    def __init__(self, book: DayPassBook, *, daily: bool, clock: Callable[[], float]) -> None:
        self._book = book
        self._daily = daily
        self._clock = clock

    def first(self) -> tuple[str, int] | None:
        """Return the first of them with its rows; None where none is due."""
        for date in self._book.requested():
            return date, self._book.days(date, date).get(date, 0)
        if not self._daily:
            return None
        now = self._clock()
        last = now - DAY_S - LATE_S
        days = self._book.days(DAY.slot(last - AGAIN_DAYS * DAY_S), DAY.slot(last))
        for date, rows in days.items():
            if self._is_due(self._book.last(date), rows, now):
                return date, rows
        return None

    def _is_due(self, before: PassedDay | None, rows: int, now: float) -> bool:
        """Tell whether a day is to be gone over: it never was, or has got rows since, and not twice
        on one day.
        """
        if before is None or before.rows < 0:
            return True
        today = DAY.slot(now - LATE_S)
        return before.rows != rows and DAY.slot(before.begun - LATE_S) != today
