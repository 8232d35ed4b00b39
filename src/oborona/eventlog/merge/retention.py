"""How long tables stay: five minutes for two days, half hours for three, days for as long as told.

Nothing goes before it is merged: a table whose rows are not in a delivered one stays, however old.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.daily.book import DayPassBook
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.merge.book import MergeBook
from oborona.eventlog.periods import DAY, PERIODS
from oborona.eventlog.slots import DAY_S, slot_name, slot_start
from oborona.eventlog.tables.delta import DeliveredTable

LOOK_S: Final = 3600.0
STREAM_DAYS: Final = 2.0
"""Of tables of five minutes: histories reach back one, and slots are written anew in the other."""
HALF_HOUR_DAYS: Final = 3.0


class LogRetention:
    """Removes what is old of one log.

    Args:
        log: its name.
        folder: where its tables lie.
        store: what is known of it.
        keep_days: that tables of days stay; 0 = for ever.
        clock: Unix seconds.
    """

    def __init__(
        self,
        log: str,
        folder: LogFolder,
        store: LogStore,
        *,
        keep_days: float,
        clock: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._store = store
        self._log = log
        self._clock = clock
        self._days = {"30min": HALF_HOUR_DAYS, "1d": keep_days}
        self._books = [MergeBook(store, log, period.name) for period in PERIODS]
        self._passes = DayPassBook(store, log)
        self._looked = float("-inf")

    def step(self) -> bool:
        """Remove what is old, once an hour; return whether it was looked.

        Raises:
            StoreError: something can't be removed.
        """
        now = self._clock()
        if abs(now - self._looked) < LOOK_S:
            return False
        self._stream(now)
        for period, book in zip(PERIODS, self._books, strict=True):
            delivered = DeliveredTable(self._folder.delivered(period.name), period.column)
            days = self._days[period.name]
            if days:
                before = period.slot(now - days * DAY_S)
                book.forget(before)  # first: what is there and forgotten is removed the next time
                delivered.delete(before)
                if period is DAY:
                    self._passes.forget(before)
                    self._folder.forget_days(before)
            delivered.tidy()
        self._looked = now
        return True

    def _stream(self, now: float) -> None:
        before = slot_name(slot_start(now - STREAM_DAYS * DAY_S))
        waiting = frozenset[str]().union(*(book.open_tables() for book in self._books))
        checked = {table.name for table in self._store.checked(self._log)}
        for name in self._folder.tables():
            if name < before and name in checked and name not in waiting:
                self._folder.remove(name)
