"""The file of what analysts said: its tables and their versions, and how it is opened.

    pin         the last word on an entity, one row each; `flag` is empty once it was cleared
    note        what was written beside an entity; clearing a pin leaves it
    change      who did what, when and why; kept for `store.LOG_S` at least
    taken_back  messages whose verdict's counts were taken back, so that it happens once
    version     one row: how many changes of pins there were; each row of `pin` has the number of
                its last

Hashes are stored as signed numbers of 64 bits, as SQLite has them. A damaged file is left where it
is, for it holds people's work: mail goes on without it, and the error says how it is mended.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425250  # "OBRP"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE pin (
            type INTEGER NOT NULL,
            hash INTEGER NOT NULL,
            name TEXT NOT NULL,
            flag TEXT NOT NULL,        -- good, unknown, poor, bad; empty: cleared
            reason TEXT NOT NULL,
            by TEXT NOT NULL,
            since REAL NOT NULL,       -- Unix seconds
            until REAL NOT NULL,       -- the same; 0: for ever
            origin TEXT NOT NULL,      -- machine or list that it was imported from; empty: somebody here said it
            changed INTEGER NOT NULL,  -- version.number of its last change
            PRIMARY KEY (type, hash)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX pin_changed ON pin (changed)",
        """
        CREATE TABLE note (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            type INTEGER NOT NULL,
            hash INTEGER NOT NULL,
            name TEXT NOT NULL,
            text TEXT NOT NULL,
            by TEXT NOT NULL,
            at REAL NOT NULL           -- Unix seconds
        )
        """,
        "CREATE INDEX note_entity ON note (type, hash)",
        """
        CREATE TABLE change (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,          -- Unix seconds
            by TEXT NOT NULL,
            what TEXT NOT NULL,        -- pin, clear, forget, note, forgive, import
            type INTEGER,              -- none: of no one entity
            hash INTEGER,
            name TEXT NOT NULL,
            flag TEXT NOT NULL,
            until REAL NOT NULL,
            reason TEXT NOT NULL
        )
        """,
        "CREATE INDEX change_entity ON change (type, hash)",
        "CREATE INDEX change_at ON change (at)",
        "CREATE TABLE taken_back (journal INTEGER PRIMARY KEY, at REAL NOT NULL)",
        "CREATE TABLE version (number INTEGER NOT NULL)",
        "INSERT INTO version VALUES (0)",
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a store of manual overrides"),
    absent="nobody has set a manual override yet",
    left="",
)
