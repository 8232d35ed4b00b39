"""The file of moves: its tables and their versions, and how it is opened.

    move      one row for each copy that is, was, or was to be moved
    cursor    how far the recheck has read each source that it follows, by name
    pause     one row while the recheck is paused
    site_move which moves the other machines of a site know, and which are another machine's

WAL with synchronous=FULL: a move is on the disk as issued before the mailbox is touched.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425243  # "OBRC"
WAL_BYTES: Final = 16 << 20  # a log that grew under somebody's long read is cut back to this

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE move (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they were decided
            message INTEGER NOT NULL,  -- id in the journal
            recipient TEXT NOT NULL,
            source TEXT NOT NULL,      -- mailbox, as IMAP names it
            target TEXT NOT NULL,
            time REAL NOT NULL,        -- when it was decided, Unix seconds
            changed REAL NOT NULL,     -- when its state was
            due REAL NOT NULL,         -- not before this
            tries INTEGER NOT NULL DEFAULT 0, -- how often it was on its way
            state TEXT NOT NULL,
            note TEXT NOT NULL DEFAULT '',
            why TEXT NOT NULL,
            score REAL NOT NULL,
            line REAL NOT NULL,
            event TEXT NOT NULL,       -- what made us look
            undoes INTEGER             -- the move that this one takes back
        )
        """,
        # Once for each copy and direction. What takes a move back is no decision of the second
        # look.
        "CREATE UNIQUE INDEX move_once ON move (message, recipient, target) WHERE undoes IS NULL",
        "CREATE UNIQUE INDEX move_undone_once ON move (undoes) WHERE undoes IS NOT NULL",
        "CREATE INDEX move_message ON move (message)",
        "CREATE INDEX move_decided ON move (message) WHERE state = 'decided'",
        "CREATE INDEX move_issued ON move (id) WHERE state = 'issued'",
        "CREATE INDEX move_time ON move (time)",
        "CREATE TABLE cursor (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
        (
            "CREATE TABLE pause (one INTEGER PRIMARY KEY CHECK (one = 1), since REAL NOT "
            "NULL, why TEXT NOT NULL)"
        ),
    ),
    # people spoke of the message; of moves from before this was written down it is believed, so
    # that none stops others
    ("ALTER TABLE move ADD COLUMN word INTEGER NOT NULL DEFAULT 1",),
    # what was learned of a message that goes back to the inbox
    ("ALTER TABLE move ADD COLUMN because TEXT NOT NULL DEFAULT ''",),
    # of several machines alone
    (
        """
        CREATE TABLE site_move (
            id INTEGER PRIMARY KEY,    -- of the move
            machine TEXT NOT NULL,     -- mark of the machine that decided it
            number INTEGER NOT NULL,   -- id there
            message_id TEXT NOT NULL,
            elsewhere INTEGER NOT NULL DEFAULT 0, -- another machine makes it
            open INTEGER NOT NULL DEFAULT 1       -- the site is to be told of its end
        )
        """,
        "CREATE UNIQUE INDEX site_move_named ON site_move (machine, number)",
        "CREATE INDEX site_move_open ON site_move (id) WHERE open",
    ),
)

SHARED: Final = SqliteFileKind(
    SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of moves"),
    "there is no file of moves",
    "; messages that were moved stay where they are, and can't be moved back by it",
    (),
    (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        f"PRAGMA journal_size_limit = {WAL_BYTES}",
    ),
)
