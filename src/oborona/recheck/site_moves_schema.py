"""The file of moves that all machines of a site know: its tables and their versions, and how it is
opened.

    told      a move that is to be made, until the machine that decided it has noted its end

A machine is named by the mark of its state folder, which no other has: a name may come again.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425356  # "OBSV"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE told (
            machine TEXT NOT NULL,     -- mark of the one that decided it
            name TEXT NOT NULL,        -- its name
            number INTEGER NOT NULL,   -- id of the move there
            message INTEGER NOT NULL,  -- id in its journal
            message_id TEXT NOT NULL,
            recipient TEXT NOT NULL,
            source TEXT NOT NULL,      -- mailbox, as IMAP names it
            target TEXT NOT NULL,
            time REAL NOT NULL,        -- when it was decided, Unix seconds
            why TEXT NOT NULL,
            score REAL NOT NULL,
            line REAL NOT NULL,
            event TEXT NOT NULL,       -- what made it look
            because TEXT NOT NULL,     -- to the inbox: what was learned
            undoes INTEGER,            -- id there of the move that this one takes back
            holder TEXT NOT NULL,      -- mark of the machine that makes it
            state TEXT NOT NULL,       -- decided; else what became of it on another machine
            note TEXT NOT NULL,
            refused TEXT NOT NULL DEFAULT '', -- marks of machines that do not reach the mailbox
            changed REAL NOT NULL,     -- when its holder or state was
            PRIMARY KEY (machine, number)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX told_holder ON told (holder) WHERE state = 'decided'",
        "CREATE INDEX told_changed ON told (changed)",
    ),
)

SHARED: Final = SqliteFileKind(
    SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of a site's moves"),
    "the machines have no moves in common yet",
    "; `oborona site join` fetches it",
)
