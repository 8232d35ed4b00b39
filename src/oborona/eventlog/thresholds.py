"""Thresholds of events, made anew each day from what persons did on the day before.

    median + 9 * max(1, 1.4826 * MAD)   of the persons who had any and whom no rule marked; MAD is
                                        the median absolute deviation
    at least what the log declares, and at most twice the day before

Events that fewer than 20 persons had keep what is declared: so few make no distribution. The
arithmetic is that of feedback (`oborona.feedback.antifraud.thresholds`): no heavy user moves it,
and robots only in steps that the history shows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from oborona.eventlog.batch.store import OTHERS, LogStore
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.periods import DAY
from oborona.eventlog.schema import RULES, LogSchema
from oborona.eventlog.slots import DAY_S
from oborona.eventlog.suppression.book import SuppressionBook
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.transform.usual_counts import usual_counts
from oborona.feedback.antifraud.thresholds import GROWTH, NARROWEST, SPREADS
from oborona.reputation.median import OF_NORMAL
from oborona.telemetry.log import event

LEAST_PEOPLE: Final = 20
MOST_EVENTS: Final = 200  # names with a line of their own, those that most persons had
LATE_S: Final = 3 * 3600.0  # after the end of a day, for what comes late

_log = logging.getLogger("oborona.eventlog")


def renewed_threshold(middle: float, distance: float, floor: float, before: float) -> float:
    """Return the threshold of an event.

    Args:
        middle: median of the events that persons had.
        distance: median distance from it.
        floor: that the log declares.
        before: the threshold of the day before.
    """
    most = middle + SPREADS * max(NARROWEST, OF_NORMAL * distance)
    return max(floor, min(GROWTH * before, most))


class ThresholdRenewal:
    """Makes the thresholds of one log anew.

    Args:
        schema: of the log.
        folder: of the log.
        store: what is known of it.
        engine: what computes.
        clock: Unix seconds.
    """

    def __init__(
        self,
        schema: LogSchema,
        folder: LogFolder,
        store: LogStore,
        engine: EventEngine,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._schema = schema
        self._folder = folder
        self._store = store
        self._book = ThresholdBook(store, schema.name)
        self._suppressions = SuppressionBook(store, schema.name)
        self._engine = engine
        self._clock = clock
        self._looked_at = ""  # the day

    def step(self) -> bool:
        """Make the thresholds of the last whole day, once; return whether they were due.

        Raises:
            StoreError: a table can't be read, or they can't be written down.
        """
        date = DAY.slot(self._clock() - DAY_S - LATE_S)
        if date == self._looked_at:
            return False
        self._looked_at = date
        if self._book.has(date):
            return False
        found = self.proposed(date)
        if not found:
            return False
        before = self._book.newest()
        self._book.renew(found)
        for one in found:
            was = before.get(one.event, self._floor(one.event))
            if one.threshold != was:
                event(
                    _log,
                    logging.INFO,
                    "a threshold of events has changed",
                    log=self._schema.name,
                    event=one.event,
                    before=round(was, 1),
                    now=round(one.threshold, 1),
                )
        return True

    def proposed(self, date: str) -> list[EventThreshold]:
        """Return the thresholds that a day's tables give, that of all other events first.

        None where no table is there.

        Args:
            date: such as 2026-11-23.
        """
        paths = [
            path
            for table in self._store.checked(self._schema.name)
            if table.name.startswith(date) and (path := self._folder.checked(table.name)).exists()
        ]
        if not paths:
            return []
        schema = arrow_schema(self._schema).append(pa.field(RULES, pa.list_(pa.string())))
        rows = self._engine.files("checked_day", paths, schema)
        before = self._book.newest()
        known = {one.person for one in self._suppressions.in_force_on(date)}
        persons = pa.table({"person": pa.array(sorted(known), pa.int64())})
        quiet = self._engine.table("quiet_persons", persons)
        usual: list[Mapping[str, Any]] = self._engine.collect(
            usual_counts(rows, quiet, LEAST_PEOPLE, MOST_EVENTS)
        ).to_pylist()
        others = EventThreshold(
            date=date, event=OTHERS, threshold=self._schema.threshold, people=0, most=0.0
        )
        return [
            others,
            *(
                EventThreshold(
                    date=date,
                    event=row["event"],
                    threshold=renewed_threshold(
                        row["middle"],
                        row["distance"],
                        self._floor(row["event"]),
                        before.get(row["event"], self._floor(row["event"])),
                    ),
                    people=row["people"],
                    most=row["most"],
                )
                for row in usual
            ),
        ]

    def _floor(self, name: str) -> float:
        return self._schema.thresholds.get(name, self._schema.threshold)
