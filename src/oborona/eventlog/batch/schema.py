"""The file of what is known of event logs: its tables and their versions, and how it is opened.

    followed       how far a log of our own was exported
    dropped_file   files that others put into a log's folder, and what became of each
    source_table   tables of `stream/5min`, each with its rows and their checksum
    batch          tables that were checked together, with all that their rules hang on
    checked_table  the same tables with the rules that they fired
    event_slot     which rows of them belong to which half hour and day of event time
    threshold      of each day, event by event
    erasure        persons that are taken out of all tables
    day_pass       whole days that were gone over, each with what came of it
    day_request    days that somebody asked for
    person_word    what an admin says of persons
    fraud_person   who was caught on which day
    suppression    rules that are not held against a person for a while
    merge          what was appended to the tables by event time, each time in one commit

WAL with synchronous=FULL: a table that is written down was on the disk before.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F42454C  # "OBEL"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE followed (
            log TEXT PRIMARY KEY,
            place INTEGER NOT NULL,    -- of the last event that is in a table
            slot INTEGER NOT NULL,     -- Unix seconds: first of the slot that is exported next
            origin TEXT NOT NULL       -- what tells its store from one that counts anew
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE dropped_file (
            log TEXT NOT NULL,
            file TEXT NOT NULL,        -- its name
            size INTEGER NOT NULL,
            changed INTEGER NOT NULL,  -- nanoseconds since the epoch
            seen REAL NOT NULL,        -- Unix seconds, when it was met first
            name TEXT NOT NULL,        -- of its table
            state TEXT NOT NULL,       -- met, taken, again, aside
            why TEXT NOT NULL DEFAULT '',
            broken INTEGER NOT NULL DEFAULT 0, -- rows that were left out
            tries INTEGER NOT NULL DEFAULT 0,  -- how often it was begun to be read
            PRIMARY KEY (log, file)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE source_table (
            log TEXT NOT NULL,
            name TEXT NOT NULL,
            delivered REAL NOT NULL,   -- Unix seconds, when it was there
            rows INTEGER NOT NULL,
            checksum TEXT NOT NULL,    -- 16 hexadecimal digits
            why TEXT NOT NULL DEFAULT '', -- it was set aside; empty = it is good
            PRIMARY KEY (log, name)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE batch (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            log TEXT NOT NULL,
            tables TEXT NOT NULL,      -- JSON, their names in order
            rules TEXT NOT NULL,       -- version of the rules
            thresholds TEXT NOT NULL,  -- JSON, by event; "" = all others
            begun REAL NOT NULL,       -- Unix seconds
            tries INTEGER NOT NULL DEFAULT 0, -- how often it was begun again
            remembered REAL,           -- when its histories were there; NULL = not yet
            done REAL,                 -- NULL = not yet
            cpu_s REAL                 -- of the process that ended it
        )
        """,
        "CREATE INDEX batch_open ON batch (log) WHERE done IS NULL",
        """
        CREATE TABLE checked_table (
            log TEXT NOT NULL,
            name TEXT NOT NULL,
            batch INTEGER NOT NULL,    -- batch.id
            rows INTEGER NOT NULL,
            checksum TEXT NOT NULL,    -- of the columns that its source has
            marked INTEGER NOT NULL,   -- rows that fired a rule
            fired TEXT NOT NULL,       -- JSON: rows by rule
            done REAL NOT NULL,        -- Unix seconds
            PRIMARY KEY (log, name)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX checked_table_batch ON checked_table (batch)",
        """
        CREATE TABLE event_slot (
            log TEXT NOT NULL,
            period TEXT NOT NULL,      -- 30min, 1d
            slot TEXT NOT NULL,        -- of event time, or unknown
            name TEXT NOT NULL,        -- of the checked table that has rows of it
            rows INTEGER NOT NULL,
            checksum TEXT NOT NULL,    -- of all columns, 16 hexadecimal digits
            merge INTEGER,             -- merge.id; NULL = not merged yet
            PRIMARY KEY (log, period, slot, name)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX event_slot_open ON event_slot (log, period) WHERE merge IS NULL",
        """
        CREATE TABLE merge (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            log TEXT NOT NULL,
            period TEXT NOT NULL,
            slots TEXT NOT NULL,       -- JSON: slots, each with the tables that are merged into it
            begun REAL NOT NULL,       -- Unix seconds
            done REAL,                 -- NULL = not yet
            rows INTEGER NOT NULL DEFAULT 0,
            repaired TEXT NOT NULL DEFAULT '[]' -- JSON: slots that were written anew
        )
        """,
    ),
    (
        """
        CREATE TABLE threshold (
            log TEXT NOT NULL,
            date TEXT NOT NULL,        -- of the day that it was made of
            event TEXT NOT NULL,
            threshold REAL NOT NULL,   -- events of a person in a day
            people INTEGER NOT NULL,   -- who had any, and whom no rule marked
            most REAL NOT NULL,        -- events of any of them
            PRIMARY KEY (log, date, event)
        ) WITHOUT ROWID
        """,
    ),
    (
        """
        CREATE TABLE erasure (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            log TEXT NOT NULL,
            person INTEGER,            -- keyed hash; NULL = it is done
            asked REAL NOT NULL,       -- Unix seconds
            begun REAL,                -- NULL = not yet
            done REAL,                 -- NULL = not yet
            removed TEXT NOT NULL DEFAULT '{}', -- JSON: rows by kind of table
            unread TEXT NOT NULL DEFAULT '[]'   -- JSON: tables that could not be read
        )
        """,
    ),
    (
        """
        CREATE TABLE day_pass (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            log TEXT NOT NULL,
            date TEXT NOT NULL,
            rules TEXT NOT NULL,       -- version of the rules
            thresholds TEXT NOT NULL,  -- JSON, by event; "" = all others
            rows INTEGER NOT NULL,     -- that the day had; -1 = it was written anew since
            begun REAL NOT NULL,       -- Unix seconds
            tries INTEGER NOT NULL DEFAULT 0, -- how often it was begun again
            change TEXT NOT NULL DEFAULT '', -- of the day's checksum, as digits; empty = not judged yet
            revised INTEGER NOT NULL DEFAULT 0, -- rows that were given out again
            marked INTEGER NOT NULL DEFAULT 0,  -- rows that have a rule now
            persons INTEGER NOT NULL DEFAULT 0, -- who were caught
            fired TEXT NOT NULL DEFAULT '{}',   -- JSON: rows by rule
            done REAL,                 -- NULL = not yet
            cpu_s REAL,                -- of the process that ended it
            why TEXT NOT NULL DEFAULT '' -- it was given up; empty = it was not
        )
        """,
        "CREATE INDEX day_pass_date ON day_pass (log, date)",
        """
        CREATE TABLE day_request (
            log TEXT NOT NULL,
            date TEXT NOT NULL,
            PRIMARY KEY (log, date)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE fraud_person (
            log TEXT NOT NULL,
            date TEXT NOT NULL,
            person INTEGER NOT NULL,   -- keyed hash
            events INTEGER NOT NULL,   -- rows of the day
            marked INTEGER NOT NULL,   -- those that a rule marked
            PRIMARY KEY (log, date, person)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE person_word (
            log TEXT NOT NULL,
            person INTEGER NOT NULL,   -- keyed hash
            fraud INTEGER NOT NULL,    -- 1; 0 = good
            why TEXT NOT NULL,
            time REAL NOT NULL,        -- Unix seconds
            PRIMARY KEY (log, person)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX fraud_person_person ON fraud_person (person, date)",
    ),
    (
        """
        CREATE TABLE suppression (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            log TEXT NOT NULL,
            person INTEGER NOT NULL,   -- keyed hash
            rule TEXT NOT NULL,        -- its name; * = all that say something against a person
            since REAL NOT NULL,       -- Unix seconds
            until REAL NOT NULL,       -- the same
            who TEXT NOT NULL,         -- login of who said so
            why TEXT NOT NULL,
            asked REAL NOT NULL,       -- Unix seconds
            taken_back REAL,           -- the same; NULL = it was not
            taken_back_by TEXT NOT NULL DEFAULT ''
        )
        """,
        "CREATE INDEX suppression_log ON suppression (log, until)",
        # JSON, what was in force when it was begun; none once it is done
        "ALTER TABLE batch ADD COLUMN suppressed TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE day_pass ADD COLUMN suppressed TEXT NOT NULL DEFAULT '[]'",
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "what is known of event logs"),
    absent="no event log has been checked here",
    left="; tables that were checked stay",
    each=("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"),
)
