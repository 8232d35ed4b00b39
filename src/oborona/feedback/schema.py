"""The file of labels: its tables and their versions, and how it is opened.

    word      one row for each label that is not yet forgotten
    example   the features of its message, as long as they are kept to be learned again
    counted   what each label adds to the counters, until their windows are over:
              `label_outbox.py`
    effect    what else events add to the counters: `effect_outbox.py`
    voice     who has reported which hash lately, since each voice counts once: `voices.py`
    news      which labels were counted or withdrawn, in that order, for a day: read by the recheck
    course    one row: how often learned labels were withdrawn, and up to which of these edits the
              weights are exact
    snapshot  states of the weights that are on the disk

A damaged file is left in place, since it holds people's work: the weights stay in force, and the
error says how to repair it.  WAL with synchronous=FULL: an acknowledged label survives a power
failure.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424642  # "OBFB"
WAL_BYTES: Final = 64 << 20  # a log that grew under somebody's long read is cut back to this
DURABLE: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    f"PRAGMA journal_size_limit = {WAL_BYTES}",
    # what is forgotten is overwritten where that costs no extra page
    "PRAGMA secure_delete = FAST",
)
"""Statements for each connection to a file of what people said: what was acknowledged survives the
power going.
"""

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE word (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they were written down, and are learned
            time REAL NOT NULL,
            kind TEXT NOT NULL,        -- spam, ham
            source TEXT NOT NULL,
            person TEXT NOT NULL,
            weight REAL NOT NULL,
            digest BLOB NOT NULL,
            message_id TEXT NOT NULL,
            journal INTEGER,           -- id of its entry there; NULL = unknown
            rank REAL NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL DEFAULT '',
            changed REAL NOT NULL,
            changed_by TEXT NOT NULL DEFAULT '',
            margin REAL,               -- before it was learned
            counted INTEGER NOT NULL DEFAULT 0 -- its pieces were
        )
        """,
        "CREATE INDEX word_said ON word (digest, person)",
        "CREATE INDEX word_state ON word (state, kind)",
        "CREATE INDEX word_person ON word (person) WHERE person <> ''",
        (
            "CREATE INDEX word_uncounted ON word (id) WHERE counted = 0 AND state IN "
            "('queued', 'learned')"
        ),
        "CREATE INDEX word_time ON word (time)",
        """
        CREATE TABLE example (
            id INTEGER PRIMARY KEY,    -- word.id
            kind TEXT NOT NULL,        -- word.kind and word.rank
            rank REAL NOT NULL,
            layout TEXT NOT NULL,      -- of the features, as `layout.layout` names it
            features BLOB NOT NULL,
            pieces BLOB NOT NULL       -- a byte of type and 8 of hash each, little-endian
        )
        """,
        "CREATE INDEX example_rank ON example (kind, rank)",
        """
        CREATE TABLE course (
            edits INTEGER NOT NULL,    -- how often learned words were taken back, set aside or put in place again, or all was to be learned anew
            exact INTEGER NOT NULL,    -- which of these the weights follow
            scratch INTEGER NOT NULL,  -- the last of these that no snapshot may answer
            hurry INTEGER NOT NULL,    -- the last of these that an admin asked for
            epoch INTEGER NOT NULL     -- how often the weights were made anew
        )
        """,
        "INSERT INTO course VALUES (0, 0, 0, 0, 0)",
        """
        CREATE TABLE snapshot (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            time REAL NOT NULL,
            why TEXT NOT NULL,
            position INTEGER NOT NULL, -- the last word that it holds
            epoch INTEGER NOT NULL,
            words TEXT NOT NULL,       -- which words up to there were learned: `lessons.HELD` of that time
            spam INTEGER NOT NULL,     -- messages learned
            ham INTEGER NOT NULL
        )
        """,
    ),
    (
        """
        CREATE TABLE counted (
            id INTEGER PRIMARY KEY,    -- word.id
            pieces BLOB NOT NULL,      -- a byte of type and 8 of hash each, little-endian
            wanted INTEGER NOT NULL,   -- the word stands
            held INTEGER NOT NULL,     -- by the counters: 0 no, 1 yes, 2 in doubt
            at REAL                    -- Unix seconds under which it is counted; NULL = it never was
        )
        """,
        # Of what an older Oborona counted nobody knows the time: it stays until its windows have
        # passed.
        """
        INSERT INTO counted SELECT w.id, e.pieces, 1, 0, NULL FROM word w JOIN example e ON e.id = w.id
        WHERE w.counted = 0 AND w.state IN ('queued', 'learned')
        """,
        "CREATE INDEX counted_open ON counted (id) WHERE held <> wanted AND held <> 2",
        "CREATE INDEX counted_at ON counted (at)",
        """
        CREATE TRIGGER word_wanted AFTER UPDATE OF state ON word
        BEGIN
            UPDATE counted SET wanted = NEW.state IN ('queued', 'learned') WHERE id = NEW.id;
            DELETE FROM counted WHERE id = NEW.id AND held = 0 AND NEW.state IN ('taken-back', 'refused');
        END
        """,
        (
            "CREATE TRIGGER word_gone AFTER DELETE ON word BEGIN DELETE FROM counted WHERE id "
            "= OLD.id; END"
        ),
        "DROP INDEX word_uncounted",
        "ALTER TABLE word DROP COLUMN counted",
        "ALTER TABLE example DROP COLUMN pieces",
    ),
    (
        # id of the event that it follows from; 0 = of none
        "ALTER TABLE word ADD COLUMN event INTEGER NOT NULL DEFAULT 0",
        # of that event's decision, from which one word follows; NULL = of none
        "ALTER TABLE word ADD COLUMN mark BLOB",
        "CREATE UNIQUE INDEX word_mark ON word (mark) WHERE mark IS NOT NULL",
        "DROP TRIGGER word_wanted",
        """
        CREATE TRIGGER word_wanted AFTER UPDATE OF state ON word
        BEGIN
            UPDATE counted SET wanted = NEW.state IN ('queued', 'learned', 'counted') WHERE id = NEW.id;
            DELETE FROM counted WHERE id = NEW.id AND held = 0 AND NEW.state IN ('taken-back', 'refused');
        END
        """,
        """
        CREATE TABLE effect (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            mark BLOB NOT NULL,        -- of the decision that it follows from
            kind TEXT NOT NULL,        -- read, deleted, forgiven
            pieces BLOB NOT NULL,      -- as in counted
            wanted INTEGER NOT NULL,   -- as in counted
            held INTEGER NOT NULL,
            at REAL,
            UNIQUE (mark, kind)
        )
        """,
        "CREATE INDEX effect_open ON effect (id) WHERE held <> wanted AND held <> 2",
        "CREATE INDEX effect_at ON effect (at)",
        """
        CREATE TABLE news (
            place INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which the counters learned of it
            time REAL NOT NULL,
            word INTEGER NOT NULL,     -- word.id
            kind TEXT NOT NULL,
            source TEXT NOT NULL,
            wanted INTEGER NOT NULL,   -- 1: it was counted, 0: taken back
            pieces BLOB NOT NULL       -- as in counted
        )
        """,
    ),
    (
        # on so many pieces it was to count when it was written down
        "ALTER TABLE word ADD COLUMN counts INTEGER NOT NULL DEFAULT 0",
        """
        CREATE TABLE voice (
            who BLOB NOT NULL,         -- hash of a person, a trap or a network
            piece BLOB NOT NULL,       -- a byte of type and 8 of hash, as in counted
            at REAL NOT NULL,          -- Unix seconds
            word INTEGER NOT NULL,     -- word.id
            PRIMARY KEY (who, piece)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX voice_word ON voice (word)",
        "CREATE INDEX voice_at ON voice (at)",
        # What is taken back was never said.  What is set aside may be put in place again.
        """
        CREATE TRIGGER voice_gone AFTER UPDATE OF state ON word WHEN NEW.state IN ('taken-back', 'refused')
        BEGIN
            DELETE FROM voice WHERE word = NEW.id;
        END
        """,
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a store of labels"),
    absent="nothing was trained yet",
    left="; the weights stay",
    first=("PRAGMA auto_vacuum = INCREMENTAL",),
    each=DURABLE,
)
