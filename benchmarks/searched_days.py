"""A made-up journal of many days, with its search files: a first day is drawn, and comes again on
the others, with ids and times of their own.

What is rare is there once a day.  Ten million messages of a fortnight take five minutes of CPU.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.search_journal import SearchedMail, fill
from oborona import ident, state_files
from oborona.journal import rows
from oborona.journal.words.days import day_of, day_path, first_of
from oborona.journal.words.writer import SearchWriter

DAY_S: Final = 86_400.0
SETTLED_S: Final = 600.0


def fill_days(state: Path, messages: int, days: int, now: float) -> None:
    """Write a journal of days that end today, and its search files.

    Args:
        state: the folder of both.
        messages: of all days.
        days: of UTC; the last one is today, which has as many messages as the others.
        now: Unix seconds.
    """
    journal, folder = state / state_files.JOURNAL, state / state_files.SEARCH
    today = day_of(ident.first_id_at(now))
    first = today - days + 1
    span = min(DAY_S, now - today * DAY_S) if days > 1 else DAY_S
    start = first * DAY_S if days > 1 else now - DAY_S
    fill(journal, SearchedMail(), start, span, messages // days)
    with closing(SearchWriter(folder, journal)) as writer:
        while writer.follow(now + SETTLED_S):
            pass
    for number in range(1, days):
        copy_day(journal, folder, first, number)
    go_on(folder, today)


def copy_day(journal: Path, folder: Path, first: int, number: int) -> None:
    """Have the messages of a day come on a later one, too, with ids of their own.

    Args:
        journal: that has the day.
        folder: of its search files.
        first: the day, since the Unix epoch.
        number: days later.
    """
    shift, end = first_of(first + number) - first_of(first), first_of(first + 1)
    columns = rows.VERDICT_COLUMNS.split(", ")[2:]
    copied, kept = ", ".join(columns), day_path(folder, first)
    with closing(sqlite3.connect(journal)) as db:
        with db:
            db.execute(
                f"INSERT INTO verdict (id, time, {copied}) "  # noqa: S608 - names of ours
                f"SELECT id + ?, time + ?, {copied} FROM verdict WHERE id < ?",
                (shift, number * DAY_S, end),
            )
            db.execute("UPDATE tally SET rows = (SELECT count(*) FROM verdict)")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    later = day_path(folder, first + number)
    shutil.copy(kept, later)
    with closing(sqlite3.connect(later)) as db, db:
        db.execute("UPDATE chunk SET last = last + ?", (shift,))
        parts = db.execute("SELECT last, ids FROM part ORDER BY last DESC").fetchall()
        db.executemany(
            "UPDATE part SET last = ?, ids = ? WHERE last = ?",
            [
                (last + shift, (np.frombuffer(ids, "<u8") + np.uint64(shift)).tobytes(), last)
                for last, ids in parts
            ],
        )


def go_on(folder: Path, day: int) -> None:
    """Have a day not be over: more of its messages may come."""
    with closing(sqlite3.connect(day_path(folder, day))) as db, db:
        db.execute("UPDATE state SET over = 0")
