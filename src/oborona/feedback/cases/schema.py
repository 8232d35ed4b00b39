"""The file of cases: its tables and their versions, and how it is opened.

    lock       who looks at a campaign now, and until when
    decision   what was decided of a campaign, what it did, and who took it back
    snooze     which campaign nobody wants to see until when
    note       what people wrote beside a campaign
    appeal     what senders wrote against a refusal, and what they are answered
    effect     what a decision does beside labels and reports, written down before it is done

A campaign is named by its number and by the log of events that gave it: one that is begun anew
gives the same numbers again.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.schema import DURABLE
from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424353  # "OBCS"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE lock (
            log BLOB NOT NULL,         -- origin of the log of events
            campaign INTEGER NOT NULL,
            by TEXT NOT NULL,
            until REAL NOT NULL,       -- Unix seconds
            PRIMARY KEY (log, campaign)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE decision (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            log BLOB NOT NULL,
            campaign INTEGER NOT NULL,
            verdict TEXT NOT NULL,     -- spam, good, newsletter
            by TEXT NOT NULL,
            at REAL NOT NULL,          -- Unix seconds
            reason TEXT NOT NULL,
            withdrawn TEXT NOT NULL,   -- ids of events that it was to take back: JSON
            taught TEXT NOT NULL DEFAULT '[]', -- ids of events, the site's word: JSON
            done INTEGER NOT NULL DEFAULT 0, -- all that it was to do is done
            undone_by TEXT NOT NULL DEFAULT '',
            undone_at REAL NOT NULL DEFAULT 0 -- Unix seconds; 0 = it stands
        )
        """,
        "CREATE UNIQUE INDEX decision_stands ON decision (log, campaign) WHERE undone_at = 0",
    ),
    (
        """
        CREATE TABLE snooze (
            log BLOB NOT NULL,         -- origin of the log of events
            campaign INTEGER NOT NULL,
            by TEXT NOT NULL,
            until REAL NOT NULL,       -- Unix seconds
            PRIMARY KEY (log, campaign)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE note (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            log BLOB NOT NULL,
            campaign INTEGER NOT NULL,
            by TEXT NOT NULL,
            at REAL NOT NULL,          -- Unix seconds
            text TEXT NOT NULL
        )
        """,
        "CREATE INDEX note_of ON note (log, campaign)",
    ),
    (
        """
        CREATE TABLE appeal (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            reference INTEGER NOT NULL UNIQUE, -- of the refusal, in the journal
            address TEXT NOT NULL,     -- who the sender says to be
            domain TEXT NOT NULL,      -- of the envelope, which that address is of
            refused REAL NOT NULL,     -- Unix seconds; so are the times below
            put_off INTEGER NOT NULL,  -- refused for a while: 4xx
            reasons TEXT NOT NULL,     -- kinds, with spaces between
            at REAL NOT NULL,
            text TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'waiting', -- waiting, pardoned, declined
            words TEXT NOT NULL DEFAULT '', -- to the sender
            by TEXT NOT NULL DEFAULT '',    -- who answered
            answered REAL NOT NULL DEFAULT 0
        )
        """,
        "CREATE INDEX appeal_at ON appeal (at)",
        "CREATE INDEX appeal_waits ON appeal (id) WHERE state = 'waiting'",
    ),
    (
        """
        CREATE TABLE effect (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they are done
            decision INTEGER NOT NULL, -- decision.id
            kind TEXT NOT NULL,        -- signature, proposal, pin, moves
            about TEXT NOT NULL,       -- what it is about, for people
            at REAL NOT NULL,          -- Unix seconds: what is made for it has this time
            made TEXT NOT NULL,        -- what is made: JSON
            before TEXT NOT NULL,      -- what was there before: JSON
            state TEXT NOT NULL,       -- planned, done, idle, undone, left
            say TEXT NOT NULL          -- why it was not done, or left
        )
        """,
        "CREATE INDEX effect_of ON effect (decision)",
        "CREATE INDEX effect_about ON effect (kind, about)",
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of cases"),
    absent="nobody has decided a campaign yet",
    left="; what was decided stays in force, and can't be taken back by it",
    each=DURABLE,
)
