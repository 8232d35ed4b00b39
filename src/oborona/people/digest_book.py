"""When who gets a digest, and what became of the last: one row a person who chose, or got one.

A digest is begun here before its mail is handed in, with the day it is of, and ended after it. Who
is killed between, or whose mail server does not say that it took it, leaves it begun: it is not
sent again that day, for it may have gone out, and the next one says that it may repeat some of it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from oborona.sqlite_file import SharedSqliteFile, SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424447  # "OBDG"
OFF: Final = -1  # as an hour
MIGRATIONS: Final = (
    (
        """
        CREATE TABLE digest (
            person INTEGER PRIMARY KEY, -- of people.db, where an id is never given twice
            hour INTEGER,               -- of the server's clock; -1: never; NULL: as the site
            day TEXT NOT NULL DEFAULT '',   -- of the last one that was begun, as 2026-11-28
            state TEXT NOT NULL DEFAULT '', -- begun, sent, nothing, failed
            told REAL NOT NULL DEFAULT 0    -- up to when news were told, Unix seconds
        )
        """,
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a book of digests"),
    absent="nobody got a digest yet",
    left=", in which nobody has chosen when they get a digest",
    each=("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON"),
)


class DigestState(StrEnum):
    """What became of a digest."""

    NONE = ""
    BEGUN = "begun"
    SENT = "sent"
    NOTHING = "nothing"  # there was no news
    FAILED = "failed"  # it could not be written: nothing was sent


class DigestRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a person.

    Args:
        hour: that they chose; -1 = never, None = as the site.
        day: of the last one that was begun.
        state: of that one.
        told: up to when news were told, Unix seconds; 0 = never.
    """

    hour: int | None = None
    day: str = ""
    state: DigestState = DigestState.NONE
    told: float = 0.0


class DigestBook(SharedSqliteFile):
    """An open book of digests; see `SharedSqliteFile`."""

    shared = SHARED

    def of(self, person: int) -> DigestRow:
        """Return what is kept of a person."""
        found = self.rows("SELECT hour, day, state, told FROM digest WHERE person = ?", (person,))
        if not found:
            return DigestRow()
        hour, day, state, told = found[0]
        known = DigestState(state) if state in set(DigestState) else DigestState.NONE
        return DigestRow(hour=hour, day=day, state=known, told=told)

    def choose(self, person: int, hour: int | None) -> None:
        """Keep when somebody wants theirs.

        Args:
            person: their id.
            hour: -1 = never, None = as the site.
        """
        with self.transaction() as db:
            db.execute(
                "INSERT INTO digest (person, hour) VALUES (?, ?)"
                " ON CONFLICT DO UPDATE SET hour = excluded.hour",
                (person, hour),
            )

    def begin(self, person: int, day: str, first: float) -> DigestRow | None:
        """Begin the digest of a day; return what was kept before. None = it was begun before.

        Args:
            person: id of who gets it.
            day: as 2026-11-28.
            first: from when on news are told in the first of all, Unix seconds; kept, so that it is
                told by a later one if this one does not go out.
        """
        with self.transaction() as db:
            before = self.of(person)
            if before.day >= day:
                return None
            db.execute(
                "INSERT INTO digest (person, day, state, told) VALUES (?, ?, 'begun', ?)"
                " ON CONFLICT DO UPDATE SET day = excluded.day, state = excluded.state,"
                " told = iif(told = 0, excluded.told, told)",
                (person, day, first),
            )
            return msgspec.structs.replace(before, told=before.told or first)

    def end(self, person: int, state: DigestState, told: float | None = None) -> None:
        """Write down what became of a digest that was begun.

        Args:
            person: id of who gets it.
            state: of it.
            told: up to when news are told now, Unix seconds; None = as before.
        """
        with self.transaction() as db:
            db.execute(
                "UPDATE digest SET state = ?, told = coalesce(?, told) WHERE person = ?",
                (state, told, person),
            )

    def left_begun(self) -> list[int]:
        """Return whose last digest was begun and has no end."""
        return [row[0] for row in self.rows("SELECT person FROM digest WHERE state = 'begun'")]

    def people(self) -> list[int]:
        """Return everybody of whom something is kept."""
        return [row[0] for row in self.rows("SELECT person FROM digest")]

    def forget(self, person: int) -> None:
        """Keep nothing of a person."""
        with self.transaction() as db:
            db.execute("DELETE FROM digest WHERE person = ?", (person,))
