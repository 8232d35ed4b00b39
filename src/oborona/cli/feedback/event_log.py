"""The log of events as `oborona feedback` opens it, and what is asked of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from oborona import state_files
from oborona.cli.context import CliContext
from oborona.desk.owner import as_owner_of
from oborona.feedback.antifraud.model import DailyThresholds, PersonRecord
from oborona.feedback.antifraud.standing import DAY_S, is_newcomer, is_proven, weight_of
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind, StoredEvent
from oborona.feedback.processing.ports import PersonVerdicts


class ReporterSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a person."""

    person: str
    weight: float  # 0..1
    standing: str  # proven, known, or stranger
    right: float  # campaigns of which they said what came out
    wrong: float
    caught: int  # days of the last month on which event logs caught them
    complaints: int
    pardons: int
    complaints_today: int
    pardons_today: int
    first: float  # Unix seconds


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are asked for."""

    person: str = ""
    what: EventKind | None = None
    rule: str = ""
    since: float = 0.0  # Unix seconds
    counts: bool | None = None
    most: int = 20


@contextmanager
def log(context: CliContext) -> Iterator[EventLog]:
    """Open the log as the daemon's user.

    Raises:
        StoreError: nobody has said anything yet, or it can't be used.
    """
    with (
        as_owner_of(context.state),
        EventLog(context.state / state_files.EVENTS, make=False) as opened,
    ):
        yield opened


def events(opened: EventLog, selection: EventFilter) -> list[StoredEvent]:
    """Return the last events that are asked for, the newest first."""
    conditions, values = ["heard >= ?"], list[Any]([selection.since])
    if selection.person:
        conditions.append("person = ?")
        values.append(selection.person)
    if selection.what is not None:
        conditions.append("what = ?")
        values.append(selection.what)
    if selection.rule:
        conditions.append("' ' || rules || ' ' LIKE ?")
        values.append(f"% {selection.rule} %")
    if selection.counts is not None:
        conditions.append("decided IS NOT NULL AND counts = ?")
        values.append(selection.counts)
    sql = f"SELECT id FROM event WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"  # noqa: S608 - literals above
    return [opened.get(ident) for (ident,) in opened.rows(sql, (*values, selection.most))]


def persons(
    opened: EventLog,
    verdicts: PersonVerdicts,
    order: str,
    most: int,
    now: float,
    person: str = "",
) -> list[ReporterSummary]:
    """Return what is known of people.

    Args:
        opened: the log.
        verdicts: of event logs on persons.
        order: `wrong`, `right`, `complaints`, `pardons`, `first`: those with most of it first, or
            the latest.
        most: so many.
        now: Unix seconds.
        person: of this one alone; empty = of all.
    """
    assert order in ("wrong", "right", "complaints", "pardons", "first")
    sql = (
        "SELECT p.person, p.right, p.wrong, p.complaints, p.pardons, coalesce(d.complaints, 0), coalesce(d.pardons, 0), p.first"  # noqa: S608 - a literal
        " FROM person p LEFT JOIN person_day d ON d.person = p.person AND d.day = ?"
        f" WHERE ? IN ('', p.person) ORDER BY p.{order} DESC, p.person LIMIT ?"
    )
    return [
        _known_persons(row, verdicts.caught_days(row[0], now), now)
        for row in opened.rows(sql, (int(now // DAY_S), person, most))
    ]


def thresholds(opened: EventLog, most: int) -> list[tuple[str, DailyThresholds]]:
    """Return the thresholds of the last days, each with its date, the newest first."""
    rows = opened.rows(
        "SELECT day, complaints, pardons, people FROM threshold ORDER BY day DESC LIMIT ?", (most,)
    )
    return [
        (
            datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat(),
            DailyThresholds(complaints=complaints, pardons=pardons, people=people),
        )
        for day, complaints, pardons, people in rows
    ]


def rule_refusals(opened: EventLog, since: float) -> dict[str, int]:
    """Return how many events written down since a time each rule spoke against."""
    counts: dict[str, int] = {}
    rows = opened.rows(
        "SELECT rules, count(*) FROM event WHERE rules <> '' AND heard >= ? GROUP BY rules",
        (since,),
    )
    for names, number in rows:
        for name in names.split():
            counts[name] = counts.get(name, 0) + number
    return counts


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def opinion(event: StoredEvent) -> str:
    """Return what became of an event, in a word or two."""
    if event.decided is None:
        return "waits"
    if event.counts:
        return f"accepted {event.weight:.2f}"
    return "own mail alone" if event.own else "refused"


def _known_persons(row: Sequence[Any], caught: int, now: float) -> ReporterSummary:
    person, right, wrong, complaints, pardons, complaints_today, pardons_today, first = row
    record = PersonRecord(first=first, caught=caught, weight=weight_of(right, wrong, caught))
    standing = (
        "stranger" if is_newcomer(record, now) else "proven" if is_proven(record, now) else "known"
    )
    return ReporterSummary(
        person=person,
        weight=record.weight,
        standing=standing,
        right=right,
        wrong=wrong,
        caught=caught,
        complaints=complaints,
        pardons=pardons,
        complaints_today=complaints_today,
        pardons_today=pardons_today,
        first=first,
    )
