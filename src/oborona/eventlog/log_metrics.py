"""The metrics of event logs: what was checked, what waits, and how late it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final

from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.lateness import MOST
from oborona.metrics import REGISTRY, Counter, Gauge
from oborona.telemetry.status import EventLogStatus

UP: Final = Gauge("oborona_eventlog_up", "1 while the process of event logs runs.", ())
ROWS: Final = Counter("oborona_eventlog_rows", "Rows that were checked.", ("log",))
MARKED: Final = Counter(
    "oborona_eventlog_marked_rows",
    "Rows that a rule marked, or would have marked were it not in shadow mode, or suppressed.",
    ("log", "rule"),
)
DELAY: Final = Gauge(
    "oborona_eventlog_delay_seconds",
    "From the delivery of the table that was checked last to its check.",
    ("log",),
)
WAITING: Final = Gauge(
    "oborona_eventlog_waiting_tables", "Tables that are delivered and not checked.", ("log",)
)
ASIDE: Final = Gauge(
    "oborona_eventlog_set_aside",
    "Tables and dropped files that were set aside, as far as they are remembered.",
    ("log",),
)
TROUBLE: Final = Gauge(
    "oborona_eventlog_trouble", "1 while a log can't be worked on; the log says why.", ("log",)
)
REVISED: Final = Counter(
    "oborona_eventlog_revised_rows",
    "Rows that the pass over their day gave out again with more rules.",
    ("log",),
)
PERSONS: Final = Gauge(
    "oborona_eventlog_fraud_persons",
    "Persons whom the last pass over a day caught in it.",
    ("log",),
)


def count_checked(log: str, rows: int, fired: Mapping[str, int], delay_s: float) -> None:
    """Count a table that was checked.

    Args:
        log: its log.
        rows: that it has.
        fired: rows by rule.
        delay_s: since it was delivered.
    """
    ROWS.inc(log, by=rows)
    for rule, number in fired.items():
        MARKED.inc(log, rule, by=number)
    DELAY.set(delay_s, log)


def count_pass(log: str, revised: int, persons: int) -> None:
    """Count a day that was gone over.

    Args:
        log: its log.
        revised: rows that were given out again.
        persons: who were caught.
    """
    REVISED.inc(log, by=revised)
    PERSONS.set(persons, log)


def status_of(
    store: LogStore, logs: Iterable[str], troubles: Mapping[str, str], now: float
) -> EventLogStatus:
    """Return what the process says.

    Args:
        store: what is known of all logs.
        logs: their names.
        troubles: what keeps a log from being worked on, by its name.
        now: Unix seconds.

    Raises:
        StoreError: the store can't be read.
    """
    UP.set(1)
    for log in logs:
        WAITING.set(len(store.due(log, MOST)), log)
        ASIDE.set(len(store.set_aside(log)), log)
        TROUBLE.set(log in troubles, log)
    return EventLogStatus(
        pid=os.getpid(), time=now, metrics=REGISTRY.snapshot(), troubles=dict(troubles)
    )
