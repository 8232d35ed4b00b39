"""The file of the signature store: its tables and their versions, and how it is opened.

    signature  one row each; none is ever deleted: an id is for ever, and who removed it and when is
               told later
    version    one row: how many changes there were; each row of `signature` has the number of its
               last
    hits       how often a signature was found, by id, those of policy files included
    day_hits   the same of each of the last days

A damaged file is left where it is, for it holds people's work: mail goes on without it, and the
error says how it is mended.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425347  # "OBSG"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE signature (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            state TEXT NOT NULL,       -- active, proposed, declined, removed
            changed INTEGER NOT NULL,  -- version.number of its last change
            flag TEXT NOT NULL,
            kind TEXT NOT NULL,
            value TEXT NOT NULL,
            normal TEXT NOT NULL,      -- as it is looked for: two with one are the same
            place TEXT NOT NULL,
            inside INTEGER NOT NULL,
            owner TEXT NOT NULL,
            reason TEXT NOT NULL,
            author TEXT NOT NULL,
            created REAL NOT NULL,
            expires REAL NOT NULL,     -- 0: never
            score REAL,
            mode TEXT NOT NULL,
            decided REAL NOT NULL,     -- when its state was last changed, Unix seconds; 0: never
            decided_by TEXT NOT NULL,
            evidence TEXT NOT NULL     -- of a proposal, JSON
        )
        """,
        "CREATE INDEX signature_changed ON signature (changed)",
        "CREATE INDEX signature_normal ON signature (normal)",
        "CREATE TABLE version (number INTEGER NOT NULL)",
        "INSERT INTO version VALUES (0)",
        """
        CREATE TABLE hits (
            id TEXT PRIMARY KEY,
            total INTEGER NOT NULL,
            day INTEGER NOT NULL,      -- of `today`, days since the Unix epoch
            today INTEGER NOT NULL,
            last REAL NOT NULL         -- Unix seconds
        ) WITHOUT ROWID
        """,
    ),
    (
        """
        CREATE TABLE day_hits (
            day INTEGER NOT NULL,      -- days since the Unix epoch
            id TEXT NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (day, id)
        ) WITHOUT ROWID
        """,
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a store of signatures"),
    absent="there are no signatures yet",
    left="",
)
