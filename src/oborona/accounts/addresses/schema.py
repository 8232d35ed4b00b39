"""The file of own addresses: its tables and their versions, and how it is opened.

listing     own addresses that a list has, or of which it gave no answer
list_round  one row for each list: how far it was asked about all addresses
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424144  # "OBAD"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE listing (
            address TEXT NOT NULL,
            list TEXT NOT NULL,
            state TEXT NOT NULL,       -- suspected, listed, unknown
            since REAL NOT NULL,       -- Unix seconds
            asked REAL NOT NULL,       -- of the last answer, Unix seconds
            say TEXT NOT NULL,         -- what the list says; why it is unknown
            clean INTEGER NOT NULL,    -- answers in a row that say it is off the list
            PRIMARY KEY (address, list)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE list_round (
            list TEXT PRIMARY KEY,
            begun REAL NOT NULL,       -- Unix seconds
            last TEXT NOT NULL,        -- address that was asked about; empty: none yet
            asked INTEGER NOT NULL,    -- addresses
            finished REAL NOT NULL     -- when a whole round ended last; 0: none yet
        ) WITHOUT ROWID
        """,
    ),
)

SHARED: Final = SqliteFileKind(
    SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of own addresses"),
    "no own address was asked about yet",
    "; without it all addresses are asked about anew",
    (),
    ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"),
)
