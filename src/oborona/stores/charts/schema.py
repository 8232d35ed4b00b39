"""The file of charts: its tables and their versions, and how it is opened.

    series   names, of which a group has so many and no more
    ten      values by series and ten minutes, for two weeks; what is not there is 0
    day      the same by days of UTC, for 400 of them
    mark     how far each process had counted when its numbers were taken last
    beyond   what was summed as "other" today, and by how much

A mark is written in the transaction that adds what was counted since the one before: a killed
keeper counts nothing twice.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424348  # "OBCH"
TEN_S: Final = 600
DAY_S: Final = 86_400
TENS_KEPT: Final = 14 * DAY_S // TEN_S
DAYS_KEPT: Final = 400

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE series (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            most INTEGER NOT NULL      -- 1: the largest of a time is kept; 0: all are summed
        )
        """,
        """
        CREATE TABLE ten (
            series INTEGER NOT NULL,   -- series.id
            bucket INTEGER NOT NULL,   -- Unix seconds / 600
            value INTEGER NOT NULL,
            PRIMARY KEY (series, bucket)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE day (
            series INTEGER NOT NULL,   -- series.id
            bucket INTEGER NOT NULL,   -- Unix seconds / 86400
            value INTEGER NOT NULL,
            PRIMARY KEY (series, bucket)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE mark (
            process TEXT PRIMARY KEY,
            mark TEXT NOT NULL         -- JSON
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE beyond (
            name TEXT PRIMARY KEY,     -- of a series that there was no room for
            value INTEGER NOT NULL
        ) WITHOUT ROWID
        """,
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of charts"),
    absent="there are no charts yet: the keeper draws them",
    left=", which begins with now",
    each=("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"),
)
