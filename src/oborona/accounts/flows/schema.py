"""The file of flows: its tables and their versions, and how it is opened.

    flow_file      one row for each file that was met, by name and size: what became of it
    flow_window    windows of the last day, of sources with many streams
    flow_exporter  what each exporter told in each window of the last day
    flow_take      the files whose windows are kept, in the order in which they were written
    flow_excess    addresses that were beyond a limit, by window: the keeper's

The log of events follows `flow_take`: its numbers only rise.

A file is taken in one transaction with all that it says; WAL with synchronous=FULL: it is on the
disk as taken before the counters get it.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F42464C  # "OBFL"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE flow_file (
            name TEXT NOT NULL,
            size INTEGER NOT NULL,
            state TEXT NOT NULL,       -- staged, taken, failing, damaged
            spool TEXT NOT NULL,       -- what the counters get, while it is staged
            tries INTEGER NOT NULL,    -- that failed
            why TEXT NOT NULL,         -- of the last failure
            records INTEGER NOT NULL,  -- of our sources
            wrong INTEGER NOT NULL,    -- lines that are no record
            start INTEGER NOT NULL,    -- of its flows, Unix seconds
            taken REAL NOT NULL,       -- when it was taken, or tried last, Unix seconds
            PRIMARY KEY (name, size)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX flow_file_taken ON flow_file (taken)",
        "CREATE INDEX flow_file_staged ON flow_file (name) WHERE state = 'staged'",
        """
        CREATE TABLE flow_window (
            start INTEGER NOT NULL,    -- Unix seconds
            address TEXT NOT NULL,
            file TEXT NOT NULL,
            packets INTEGER NOT NULL,
            octets INTEGER NOT NULL,
            streams INTEGER NOT NULL,
            at_once INTEGER,           -- NULL: the times of an exporter can't be believed
            destinations INTEGER NOT NULL,
            refused INTEGER NOT NULL,  -- streams
            sampled INTEGER NOT NULL,
            PRIMARY KEY (start, address, file)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE flow_exporter (
            start INTEGER NOT NULL,
            exporter TEXT NOT NULL,
            file TEXT NOT NULL,
            records INTEGER NOT NULL,  -- of our sources
            flows INTEGER NOT NULL,    -- all
            datagrams INTEGER NOT NULL,
            failures INTEGER NOT NULL, -- of the sequence
            times_wrong INTEGER NOT NULL,
            lag_s REAL NOT NULL,
            shared REAL NOT NULL,      -- share of streams that another exporter told of
            sampling INTEGER NOT NULL,
            PRIMARY KEY (start, exporter, file)
        ) WITHOUT ROWID
        """,
    ),
    (
        """
        CREATE TABLE flow_take (
            number INTEGER PRIMARY KEY AUTOINCREMENT,  -- given once, whatever is purged
            start INTEGER NOT NULL,    -- of its first window, Unix seconds
            until INTEGER NOT NULL,    -- start of its last one
            written REAL NOT NULL      -- Unix seconds
        )
        """,
        "ALTER TABLE flow_window ADD COLUMN take INTEGER NOT NULL DEFAULT 0",  # 0: before these
        "ALTER TABLE flow_window ADD COLUMN networks INTEGER",  # of its destinations
        # as they were when it was written; empty: nobody is known to have the address
        "ALTER TABLE flow_window ADD COLUMN account TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE flow_window ADD COLUMN customer TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE flow_window ADD COLUMN state TEXT NOT NULL DEFAULT ''",
        """
        CREATE TABLE flow_excess (
            start INTEGER NOT NULL,    -- of the window, Unix seconds
            address TEXT NOT NULL,
            "limit" TEXT NOT NULL,
            PRIMARY KEY (start, address, "limit")
        ) WITHOUT ROWID
        """,
    ),
)

SHARED: Final = SqliteFileKind(
    SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of flows"),
    "there is no file of flows",
    "; files of flows of the last day that are still there would be counted again",
    (),
    ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"),
)
