"""The thresholds of events, day by day, in the file of event logs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import Final, NamedTuple

import msgspec

from oborona.eventlog.batch.store import OTHERS, LogStore
from oborona.eventlog.schema import LogSchema

LAST: Final = "9999"  # behind all days
LEAP_DAYS: Final = 14
LEAP: Final = 3.0  # times the median of the days before


class EventThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """The threshold of an event from a day on."""

    date: str  # of the day that it was made of
    event: str
    threshold: float  # events of a person in a day
    people: int  # who had any on that day, and whom no rule marked
    most: float  # events of any of them


class ThresholdLeap(NamedTuple):
    """A threshold that is far above those of the days before."""

    event: str
    threshold: float
    before: float  # their median
    date: str  # of the day that it was made of


def threshold_leap(history: Sequence[EventThreshold]) -> ThresholdLeap | None:
    """Return the leap of an event's last threshold; None where it has not leapt.

    Args:
        history: of one event, day after day.
    """
    days = [one.threshold for one in history[-LEAP_DAYS:]]
    if len(days) < 2 or days[-1] <= LEAP * median(days[:-1]):
        return None
    last = history[-1]
    return ThresholdLeap(last.event, last.threshold, median(days[:-1]), last.date)


class ThresholdBook:
    """The part of the file of event logs that is about thresholds.

    Args:
        store: the file.
        log: name of a log.
    """

    def __init__(self, store: LogStore, log: str) -> None:
        self._store = store
        self._log = log

    def has(self, date: str) -> bool:
        """Tell whether the thresholds of a day are there."""
        found = self._store.rows(
            "SELECT 1 FROM threshold WHERE log = ? AND date = ? LIMIT 1", (self._log, date)
        )
        return bool(found)

    def newest(self, until: str = LAST) -> dict[str, float]:
        """Return the newest threshold of each event that has one.

        Args:
            until: a day; those that were made of later ones are left out.
        """
        return dict(
            self._store.rows(
                "SELECT event, threshold FROM threshold AS one WHERE log = ? AND date ="
                " (SELECT max(date) FROM threshold WHERE log = one.log AND event = one.event"
                " AND date <= ?)",
                (self._log, until),
            )
        )

    def lines(self, schema: LogSchema, *, renewed: bool, until: str = LAST) -> dict[str, float]:
        """Return the thresholds that hold, by event; `OTHERS` is that of all others.

        Args:
            schema: of the log, which declares the least.
            renewed: those that were made anew hold; else those that are declared.
            until: as of `newest`.
        """
        declared = {**schema.thresholds, OTHERS: schema.threshold}
        return declared | (self.newest(until) if renewed else {})

    def history(self) -> list[EventThreshold]:
        """Return all thresholds, by event and day."""
        return [
            EventThreshold(date=date, event=name, threshold=line, people=people, most=most)
            for date, name, line, people, most in self._store.rows(
                "SELECT date, event, threshold, people, most FROM threshold WHERE log = ?"
                " ORDER BY event, date",
                (self._log,),
            )
        ]

    def leaps(self, since: str) -> list[ThresholdLeap]:
        """Return the thresholds that have leapt.

        Args:
            since: such as 2026-11-23: those made of earlier days are left out.
        """
        found = (
            threshold_leap(list(days)) for _, days in groupby(self.history(), attrgetter("event"))
        )
        return [leap for leap in found if leap is not None and leap.date >= since]

    def renew(self, found: Sequence[EventThreshold]) -> None:
        """Write down thresholds: all or nothing."""
        with self._store.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO threshold (log, date, event, threshold, people, most)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(self._log, *msgspec.structs.astuple(one)) for one in found],
            )
