"""The file of events: its tables and their versions, and how it is opened.

    event            one row for each event that is not yet forgotten, with what was decided of it
    raw              messages as they were handed in, for some days
    entry            in a site of several machines, what the journal that has an event's message
                     knows of it, as MessagePack
    revision         earlier decisions of an event that was decided again
    person           what became of a person's complaints and pardons
    person_day       how many complaints and pardons a person had in a day
    threshold        from which number of them on a person is abnormal, of each day
    campaign         events about messages that are alike
    campaign_piece   the pieces by which such messages are known
    campaign_person  who said what of a campaign

A damaged file is left where it is, for it holds people's work: doors answer that they can't take
events, and the error says how it is mended. WAL with synchronous=FULL: an event that was
acknowledged survives the power going.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.schema import DURABLE
from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424556  # "OBEV"

MIGRATIONS: Final = (
    (
        # what tells this log from another that begins anew at 1
        "CREATE TABLE origin (name BLOB NOT NULL)",
        "INSERT INTO origin VALUES (:chance)",
        """
        CREATE TABLE event (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they were written down, and are decided
            what TEXT NOT NULL,
            way TEXT NOT NULL,
            time REAL NOT NULL,        -- Unix seconds, when it was done
            heard REAL NOT NULL,       -- when it was written down
            person TEXT NOT NULL,
            ident INTEGER,             -- in the journal; NULL = unknown
            message_id TEXT NOT NULL,
            mailbox TEXT NOT NULL,
            source TEXT NOT NULL,
            key BLOB,                  -- NULL = every event is its own
            decided REAL,              -- Unix seconds; NULL = not yet
            counts INTEGER NOT NULL DEFAULT 0, -- for all
            own INTEGER NOT NULL DEFAULT 0,    -- for the person's own mail
            weight REAL NOT NULL DEFAULT 0,    -- 0..1
            rules TEXT NOT NULL DEFAULT '',    -- names, with blanks between them
            say TEXT NOT NULL DEFAULT '',
            message BLOB,              -- what it is about, 16 octets: the same of two events about one message; NULL = unknown
            campaign INTEGER NOT NULL DEFAULT 0, -- campaign.id; 0 = of none
            turn INTEGER NOT NULL DEFAULT 0,   -- how often it was decided
            done INTEGER NOT NULL DEFAULT 0,   -- the turn whose effects are there
            word INTEGER NOT NULL DEFAULT 0,   -- word.id in the file of people's word; 0 = none follows from it
            effects TEXT NOT NULL DEFAULT '[]' -- what followed from it, for people: JSON
        )
        """,
        "CREATE UNIQUE INDEX event_key ON event (key) WHERE key IS NOT NULL",
        "CREATE INDEX event_ident ON event (ident) WHERE ident IS NOT NULL",
        "CREATE INDEX event_message ON event (message, person) WHERE message IS NOT NULL",
        "CREATE INDEX event_person ON event (person) WHERE person <> ''",
        "CREATE INDEX event_campaign ON event (campaign, person) WHERE campaign <> 0",
        "CREATE INDEX event_undecided ON event (id) WHERE decided IS NULL",
        "CREATE INDEX event_undone ON event (id) WHERE done < turn",
        "CREATE INDEX event_heard ON event (heard)",
        "CREATE INDEX event_passing ON event (heard) WHERE what IN ('read', 'deleted')",
        "CREATE INDEX event_word ON event (word) WHERE word <> 0",
        """
        CREATE TABLE raw (
            id INTEGER PRIMARY KEY,    -- event.id
            size INTEGER NOT NULL,     -- octets of the message as it was handed in
            octets BLOB NOT NULL       -- its first ones, as zlib packs them
        )
        """,
        """
        CREATE TABLE revision (
            event INTEGER NOT NULL,    -- event.id
            turn INTEGER NOT NULL,
            time REAL NOT NULL,        -- Unix seconds, when this decision fell
            counts INTEGER NOT NULL,
            own INTEGER NOT NULL,
            weight REAL NOT NULL,
            rules TEXT NOT NULL,
            say TEXT NOT NULL,
            PRIMARY KEY (event, turn)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE person (
            person TEXT PRIMARY KEY,
            complaints INTEGER NOT NULL DEFAULT 0, -- duplicates are none
            pardons INTEGER NOT NULL DEFAULT 0,
            right REAL NOT NULL DEFAULT 0, -- campaigns that turned out to be what they had said
            wrong REAL NOT NULL DEFAULT 0,
            first REAL NOT NULL        -- Unix seconds of their first event
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE person_day (
            day INTEGER NOT NULL,      -- since the Unix epoch, UTC
            person TEXT NOT NULL,
            complaints INTEGER NOT NULL,
            pardons INTEGER NOT NULL,
            PRIMARY KEY (day, person)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE threshold (
            day INTEGER PRIMARY KEY,   -- on which it holds
            complaints REAL NOT NULL,
            pardons REAL NOT NULL,
            people INTEGER NOT NULL    -- of the day before, which it follows from
        )
        """,
        """
        CREATE TABLE campaign (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            first REAL NOT NULL,       -- Unix seconds of its first event
            last REAL NOT NULL,
            traps INTEGER NOT NULL DEFAULT 0,
            changed INTEGER NOT NULL DEFAULT 0, -- since it was last gone over there was something new
            looked REAL NOT NULL DEFAULT 0,     -- Unix seconds, when that was
            proposed INTEGER NOT NULL DEFAULT 0, -- people who complained when signatures were last proposed
            proposals TEXT NOT NULL DEFAULT ''   -- names of these, with blanks between them
        )
        """,
        "CREATE INDEX campaign_changed ON campaign (looked) WHERE changed",
        "CREATE INDEX campaign_last ON campaign (last)",
        """
        CREATE TABLE campaign_piece (
            type INTEGER NOT NULL,
            hash INTEGER NOT NULL,     -- as signed 64 bits
            campaign INTEGER NOT NULL,
            PRIMARY KEY (type, hash, campaign)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX campaign_piece_of ON campaign_piece (campaign)",
        """
        CREATE TABLE campaign_person (
            campaign INTEGER NOT NULL,
            person TEXT NOT NULL,
            what TEXT NOT NULL,        -- complaint, pardon
            events INTEGER NOT NULL,   -- duplicates are none
            first REAL NOT NULL,       -- Unix seconds
            last REAL NOT NULL,
            weight REAL NOT NULL,      -- of what is believed; 0 = nothing is
            young INTEGER NOT NULL,    -- when they said it
            proven INTEGER NOT NULL,
            only INTEGER NOT NULL,     -- they had pardoned only
            settled TEXT NOT NULL DEFAULT '', -- right, wrong: how their record counts it
            PRIMARY KEY (campaign, person, what)
        ) WITHOUT ROWID
        """,
    ),
    (
        """
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY,    -- event.id
            message BLOB NOT NULL      -- what the journal of some machine knows of its message
        )
        """,
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a log of events"),
    absent="nobody has said anything yet",
    left="; what people had trained stays",
    first=("PRAGMA auto_vacuum = INCREMENTAL",),
    each=DURABLE,
)
