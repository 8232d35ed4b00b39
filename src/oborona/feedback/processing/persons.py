"""The record of each reporter: since when and how often they reported, how often they were right,
and what is usual on a day.

All functions work within the caller's transaction on the log of events.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from oborona.feedback.antifraud.model import DailyThresholds, PersonRecord
from oborona.feedback.antifraud.standing import weight_of
from oborona.feedback.antifraud.thresholds import daily_thresholds
from oborona.feedback.events.model import EventKind

DAY_S: Final = 86_400
NOBODY: Final = PersonRecord()
DAYS_KEPT: Final = 30  # of who said how much


def day_of(now: float) -> int:
    """Return the number of a day since the Unix epoch, UTC."""
    return int(now // DAY_S)


def record_of(db: sqlite3.Connection, person: str, now: float, *, caught: int = 0) -> PersonRecord:
    """Return what a person did until now.

    Args:
        db: within a transaction.
        person: mail address.
        now: Unix seconds.
        caught: days of the last month on which event logs caught the person.
    """
    row = db.execute(
        "SELECT p.complaints, p.pardons, p.right, p.wrong, p.first, coalesce(d.complaints, 0), "
        "coalesce(d.pardons, 0)"
        " FROM person p LEFT JOIN person_day d ON d.person = p.person AND d.day = ? WHERE "
        "p.person = ?",
        (day_of(now), person),
    ).fetchone()
    if row is None:
        return PersonRecord(caught=caught, weight=weight_of(0, 0, caught))
    complaints, pardons, right, wrong, first, complaints_today, pardons_today = row
    return PersonRecord(
        complaints_today=complaints_today,
        pardons_today=pardons_today,
        complaints=complaints,
        pardons=pardons,
        right=right,
        wrong=wrong,
        first=first,
        caught=caught,
        weight=weight_of(right, wrong, caught),
    )


def note(db: sqlite3.Connection, person: str, kind: EventKind, *, time: float, now: float) -> None:
    """Note that a person did something.

    Args:
        db: within a transaction.
        person: mail address.
        kind: they did; no duplicate.
        time: Unix seconds, when the event was written down.
        now: Unix seconds.
    """
    complained, pardoned = int(kind is EventKind.COMPLAINT), int(kind is EventKind.PARDON)
    db.execute(
        "INSERT INTO person (person, complaints, pardons, first) VALUES (?, ?, ?, ?) ON CONFLICT "
        "DO UPDATE SET"
        " complaints = complaints + excluded.complaints, pardons = pardons + excluded.pardons, "
        "first = min(first, excluded.first)",
        (person, complained, pardoned, time),
    )
    if complained or pardoned:
        db.execute(
            "INSERT INTO person_day VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " complaints = complaints + excluded.complaints, pardons = pardons + excluded.pardons",
            (day_of(now), person, complained, pardoned),
        )


def limits_of(db: sqlite3.Connection, now: float) -> DailyThresholds:
    """Return the thresholds of today, which follow from what was done yesterday.

    Computed by the first who asks on a day, and kept.
    """
    today = day_of(now)
    row = db.execute(
        "SELECT complaints, pardons, people FROM threshold WHERE day = ?", (today,)
    ).fetchone()
    if row is not None:
        return DailyThresholds(complaints=row[0], pardons=row[1], people=row[2])
    before = db.execute(
        (
            "SELECT complaints, pardons, people FROM threshold WHERE day < ? ORDER BY day "
            "DESC LIMIT 1"
        ),
        (today,),
    ).fetchone()
    yesterday = db.execute(
        "SELECT complaints, pardons FROM person_day WHERE day = ?", (today - 1,)
    ).fetchall()
    thresholds = daily_thresholds(
        [count for count, _ in yesterday],
        [count for _, count in yesterday],
        None
        if before is None
        else DailyThresholds(complaints=before[0], pardons=before[1], people=before[2]),
    )
    db.execute(
        "INSERT INTO threshold VALUES (?, ?, ?, ?)",
        (today, thresholds.complaints, thresholds.pardons, thresholds.people),
    )
    db.execute("DELETE FROM person_day WHERE day < ?", (today - DAYS_KEPT,))
    return thresholds
