"""The file of persons: its tables and their versions, and how it is opened.

    person   one row each: their strictness, and the number of the last change of anything of theirs
    entry    what they have said, and whom they know; those of one person lie together
    version  one row: how many changes there were

A damaged file is left where it is, for it holds people's work: mail goes on without it, and the
error says how it is mended.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425053  # "OBPS"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE person (
            id INTEGER PRIMARY KEY,
            address TEXT NOT NULL UNIQUE, -- lower case, domain in A-labels
            strictness REAL NOT NULL DEFAULT 1,
            changed INTEGER NOT NULL      -- version.number of the last change
        )
        """,
        "CREATE INDEX person_changed ON person (changed)",
        """
        CREATE TABLE entry (
            person INTEGER NOT NULL,   -- person.id
            contact INTEGER NOT NULL,  -- 1: somebody they know
            kind TEXT NOT NULL,        -- address, claimed, sender, list, domain, text
            value TEXT NOT NULL,       -- in its normal form
            word INTEGER NOT NULL,     -- id of the word that it follows from; 0: of none
            side TEXT NOT NULL,        -- deny, allow, lift, contact
            beside TEXT NOT NULL,
            text BLOB NOT NULL,
            time REAL NOT NULL,        -- Unix seconds, when it was said
            source TEXT NOT NULL,      -- command, word, book, written
            expires REAL NOT NULL,     -- Unix seconds; 0: never
            note TEXT NOT NULL,
            PRIMARY KEY (person, contact, kind, value, word)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX entry_word ON entry (word) WHERE word <> 0",
        "CREATE TABLE version (number INTEGER NOT NULL)",
        "INSERT INTO version VALUES (0)",
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a store of persons"),
    absent="nobody has said anything of their own mail yet",
    left="",
    each=("PRAGMA journal_mode = WAL", "PRAGMA secure_delete = FAST"),
)
