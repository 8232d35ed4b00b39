"""The file of a site's final models: its tables and their versions, and how it is opened.

    content   what is in files, each once, packed; of what no file has any more the digest alone
    file      which of them each file holds
    standing  who said so last; no row: nobody yet

On a machine alone the files in the state folder are all there is, and this one is not kept up.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.schema import DURABLE
from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F42534D  # "OBSM"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE content (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            digest TEXT NOT NULL UNIQUE, -- SHA-256, in hex
            octets BLOB                  -- by zlib; NULL: no file has it any more
        )
        """,
        """
        CREATE TABLE file (
            name TEXT PRIMARY KEY,
            digest TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE standing (
            single INTEGER PRIMARY KEY CHECK (single = 1),
            machine TEXT NOT NULL,       -- name of it
            at REAL NOT NULL             -- Unix seconds
        )
        """,
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a store of a site's models"),
    absent="the machines have no final models in common yet",
    left="; `oborona site join --again` fetches it",
    each=DURABLE,
)
