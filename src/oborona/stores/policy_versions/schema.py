"""The file of versions of the site's policy: its tables and their versions, and how it is opened.

    content   what is in files, each once, packed
    version   the site's policy folder as it was at some time, and who made it so

WAL with synchronous=FULL: what is about to be published, and what was there before it, are on the
disk before a file of the policy is touched.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.schema import DURABLE
from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425056  # "OBPV"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE content (
            digest TEXT PRIMARY KEY,   -- SHA-256, in hex
            octets BLOB NOT NULL       -- by zlib
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE version (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,          -- Unix seconds
            author TEXT NOT NULL,
            way TEXT NOT NULL,         -- how they came
            comment TEXT NOT NULL,
            sort TEXT NOT NULL,        -- first, live, shadow, back, outside
            state TEXT NOT NULL,       -- begun, published, refused
            trouble TEXT NOT NULL,     -- why it was refused
            meaning TEXT NOT NULL,     -- version of what it means; empty: not known
            of INTEGER NOT NULL,       -- of `back`: the version that it is again
            digest TEXT NOT NULL,      -- of all files and their names
            files TEXT NOT NULL        -- JSON: names, and digests of contents
        )
        """,
    ),
    # who approved what the author has proposed; empty: nobody had to
    ("ALTER TABLE version ADD COLUMN approved TEXT NOT NULL DEFAULT ''",),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a store of policy versions"),
    absent="no version of the policy is kept yet",
    left=", which knows no earlier version",
    each=DURABLE,
)
