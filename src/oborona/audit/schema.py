"""The file of the audit log: its tables and their versions, and how it is opened.

    audit     the rows of the chain, by number
    head      one row: the number and the hash of the last one, and a seal over both

WAL with synchronous=FULL: that an act was begun is on the disk before the act begins.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424155  # "OBAU"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY, -- from 1 on, without a gap
            form INTEGER NOT NULL,      -- of what is hashed
            kind TEXT NOT NULL,         -- of `RowKind`
            at INTEGER NOT NULL,        -- Unix microseconds
            act TEXT NOT NULL,
            person TEXT NOT NULL,
            source TEXT NOT NULL,
            way TEXT NOT NULL,
            place TEXT NOT NULL,
            about TEXT NOT NULL,
            arguments TEXT NOT NULL,    -- a JSON object
            reason TEXT NOT NULL,
            dry INTEGER NOT NULL,
            of INTEGER NOT NULL,        -- the row that an end belongs to; of a cut the last row dropped
            outcome TEXT NOT NULL,
            status INTEGER NOT NULL,
            message TEXT NOT NULL,
            took INTEGER NOT NULL,      -- microseconds
            keyed INTEGER NOT NULL,     -- whether the hash is under the site's key
            before BLOB NOT NULL,       -- hash of the row before
            hash BLOB NOT NULL
        )
        """,
        "CREATE INDEX audit_ended ON audit (of) WHERE kind = 'ended'",
        """
        CREATE TABLE head (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            number INTEGER NOT NULL,
            hash BLOB NOT NULL,
            seal BLOB NOT NULL
        )
        """,
    ),
    (
        "ALTER TABLE audit ADD COLUMN roles TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE audit ADD COLUMN undo TEXT NOT NULL DEFAULT ''",  # a JSON object
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "an audit log"),
    absent="nothing was done here yet that the audit log holds",
    left=", which knows nothing of what was done before",
    # what retention drops is gone from the file
    each=("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON"),
)
