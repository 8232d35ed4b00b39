"""Asks about event logs: how far they are, from how many events on a person is abnormal, and who is
taken out of them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona import lock, state_files
from oborona.daemon.event_logs import check_packages
from oborona.desk.call import ask
from oborona.desk.event_logs.logs import log_named, open_log_store
from oborona.desk.site import Site
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook, threshold_leap
from oborona.eventlog.daily.book import DayPassBook, PassedDay
from oborona.eventlog.known_logs import schemas
from oborona.people.caller import Caller
from oborona.people.rights import Right

DAY_S: Final = 86_400.0
DAYS: Final = 14
EventLogName = Annotated[str, Meta(min_length=1, max_length=100)]


class EventLogsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How far the logs are."""


class PassedLogDay(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a pass over a day of a log.

    Args:
        id: of the pass.
        date: of the day, UTC, as 2026-11-23.
        rows: that the day had.
        marked: rows that have a rule now.
        revised: rows that were given out again.
        persons: who were caught.
        fired: rows by rule.
        why: it was given up; empty = it was not.
    """

    id: int
    date: str
    rows: int
    marked: int
    revised: int
    persons: int
    fired: Mapping[str, int]
    why: str


class SetAsideTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table, or a file that was dropped, that can't be used."""

    name: str
    why: str


class EventLogState(msgspec.Struct, frozen=True, kw_only=True):
    """The last day of a log.

    Args:
        log: its name.
        tables: of five minutes.
        checked: how many of them are.
        waiting: how many are to be.
        last: name of the last one that is checked; empty = none is.
        delay_s: the longest from delivery to check.
        rows: of those that are checked.
        marked: rows with a rule.
        fired: rows by rule.
        day: the last pass over a whole day; None = there was none.
        broken_rows: of dropped files that could not be used.
        aside: tables and files that could not be used.
    """

    log: str
    tables: int
    checked: int
    waiting: int
    last: str
    delay_s: float
    rows: int
    marked: int
    fired: dict[str, int]
    day: PassedLogDay | None
    broken_rows: int
    aside: tuple[SetAsideTable, ...]


class EventLogsState(msgspec.Struct, frozen=True, kw_only=True):
    """All logs, and the process id of what works on them; None = nothing does."""

    pid: int | None
    logs: tuple[EventLogState, ...]


@ask("eventlog.status", Right.STATUS)
def show_event_logs(site: Site, _caller: Caller, asked: EventLogsQuestion) -> EventLogsState:
    """Return what the last day of each log holds.

    Raises:
        ConfigError: packages are missing, or a log is not declared as it must be.
        StoreError: no log has been checked, or what is known of them can't be read.
    """
    check_packages()
    with open_log_store(site) as store:
        logs = tuple(_state(store, one.name) for one in schemas(site.loaded.settings))
    holder = lock.holder(site.state / state_files.EVENT_LOG_LOCK)
    return EventLogsState(pid=None if holder is None else holder.pid, logs=logs)


def _state(store: LogStore, log: str) -> EventLogState:
    since = time.time() - DAY_S
    sources = {table.name: table for table in store.sources(log, since=since)}
    checked = [table for table in store.checked(log, since) if table.name in sources]
    fired = Counter[str]()
    for table in checked:
        fired.update(table.fired)
    delays = [table.done - sources[table.name].delivered for table in checked]
    passed = DayPassBook(store, log).last()
    return EventLogState(
        log=log,
        tables=len(sources),
        checked=len(checked),
        waiting=sum(not table.why for table in sources.values()) - len(checked),
        last=checked[-1].name if checked else "",
        delay_s=round(max(delays, default=0.0), 1),
        rows=sum(table.rows for table in checked),
        marked=sum(table.marked for table in checked),
        fired=dict(sorted(fired.items())),
        day=None if passed is None else passed_day(passed),
        broken_rows=sum(file.broken for file in store.files(log).values()),
        aside=tuple(
            SetAsideTable(name=name, why=why)
            for name, why in store.set_aside(log, since, files_since=0.0)
        ),
    )


def passed_day(one: PassedDay) -> PassedLogDay:
    """Return what came of a pass."""
    return PassedLogDay(
        id=one.id,
        date=one.date,
        rows=one.rows,
        marked=one.marked,
        revised=one.revised,
        persons=one.persons,
        fired=one.fired,
        why=one.why,
    )


class EventLogQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A log by its name."""

    log: EventLogName


class EventLogThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """From how many events of a name in a day on a person is abnormal.

    Args:
        event: its name; empty = all others.
        threshold: now.
        declared: by the log itself.
        date: the day that it was made of; empty = none.
        people: of that day.
        most: events of any of them.
        days: the thresholds of the last days that it was made anew.
        leapt: the last of them is far from those before.
    """

    event: str
    threshold: float
    declared: float
    date: str
    people: int
    most: float
    days: tuple[float, ...]
    leapt: bool


class EventLogThresholds(msgspec.Struct, frozen=True, kw_only=True):
    """The thresholds of a log, by event."""

    thresholds: tuple[EventLogThreshold, ...]


@ask("eventlog.thresholds", Right.STATUS)
def show_event_thresholds(
    site: Site, _caller: Caller, asked: EventLogQuestion
) -> EventLogThresholds:
    """Return the thresholds of a log, for each event those of the last days that it was made anew.

    Raises:
        ConfigError: packages are missing, or there is no such log.
        StoreError: no log has been checked, or what is known of them can't be read.
    """
    check_packages()
    schema = log_named(site, asked.log)
    with open_log_store(site) as store:
        history = ThresholdBook(store, asked.log).history()
    declared = {"": schema.threshold, **schema.thresholds}
    of_event = {name: list(days) for name, days in groupby(history, attrgetter("event"))}
    return EventLogThresholds(
        thresholds=tuple(
            event_threshold(name, of_event.get(name, []), declared)
            for name in sorted(declared.keys() | of_event)
        )
    )


def event_threshold(
    name: str, history: list[EventThreshold], declared: Mapping[str, float]
) -> EventLogThreshold:
    """Return the threshold of an event.

    Args:
        name: of the event.
        history: of its thresholds, the oldest first.
        declared: thresholds by event, "" of all others.
    """
    least = declared.get(name, declared[""])
    days = tuple(round(one.threshold, 1) for one in history[-DAYS:])
    last = history[-1] if history else None
    return EventLogThreshold(
        event=name,
        threshold=days[-1] if days else least,
        declared=least,
        date=last.date if last else "",
        people=last.people if last else 0,
        most=last.most if last else 0.0,
        days=days,
        leapt=threshold_leap(history) is not None,
    )
