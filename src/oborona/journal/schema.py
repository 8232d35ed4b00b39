"""The journal's file: its tables and their versions, and how it is opened.

    verdict    one row a message, kept for long: envelope, verdict, rules
    evidence   one row a message, may be kept for less: facts, findings, shingles
    names      lists of fact names: evidence holds values alone, in the order of one of these lists
    tally      one row: how many rows `verdict` and `refusal` have, since counting millions takes
               seconds
    policy     what each rule of a policy's version asks, so that later ones can be told from it
    late       messages that were judged again when more of them was known, in that order
    arrival    what a second look follows: messages that passed, and what was found late, in the
               order in which they were written
    went       where the copies went that came through the delivery door
    refusal    references of what was refused before its content: no row of `verdict`, nothing of it
               is counted or followed

WAL with synchronous=NORMAL: a killed process loses nothing that was committed; a machine that loses
power may lose the last commits, and its file stays whole. Damage is looked for where it costs
nothing: in the header, the schema, in the file's length and at the end of each table; a page that
rots in the middle is met by whoever reads it, who leaves a note, by which the keeper reads all of
it and sets it aside.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from oborona import state_files, store_birth
from oborona.errors import StoreError
from oborona.ident import EPOCH, TIME_SHIFT
from oborona.lock import hold
from oborona.sqlite_damage import is_cut_short, set_aside
from oborona.sqlite_file import (
    SqliteFileDamaged,
    SqliteFormat,
    checked_version,
    closed_on_error,
    connect,
    explained_error,
    migrate,
    part_of,
)

APPLICATION_ID: Final = 0x4F424A4C  # "OBJL"
# waiting for another that prepares: a migration of a large file takes seconds
PREPARE_S: Final = 30.0
PAGE_BYTES: Final = 8192  # evidence rows of 1 to 3 kB: pages of 4096 would stay half empty
WAL_BYTES: Final = 64 << 20  # a WAL that grew under somebody's long read is cut back to this
SEEN_BEFORE_S: Final = 86_400  # what an older journal's messages of the last day are: arrivals

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE verdict (
            id INTEGER PRIMARY KEY,    -- in order of time
            time REAL NOT NULL,
            verdict TEXT NOT NULL,
            score REAL NOT NULL,
            line REAL NOT NULL,
            decided_by TEXT NOT NULL,
            partial INTEGER NOT NULL,
            policy_version TEXT NOT NULL,
            size INTEGER NOT NULL,
            queue_id,                  -- NULL = unknown. A text that is no Unicode is a blob: UTF-8, surrogates kept
            message_id,
            message_key INTEGER,       -- 64-bit hash of message_id: its index is a fifth the size
            client_ip NOT NULL,
            helo NOT NULL,
            sender NOT NULL,
            login NOT NULL,
            recipients NOT NULL,       -- JSON
            subject NOT NULL,
            rules NOT NULL             -- JSON
        )
        """,
        "CREATE INDEX verdict_queue_id ON verdict (queue_id) WHERE queue_id IS NOT NULL",
        "CREATE INDEX verdict_message_key ON verdict (message_key) WHERE message_key IS NOT NULL",
        """
        CREATE TABLE evidence (
            id INTEGER PRIMARY KEY,    -- verdict.id
            findings NOT NULL,         -- JSON
            shape INTEGER,             -- names.id: facts is an array of values; NULL: facts is an object
            facts NOT NULL,            -- JSON
            shingles BLOB NOT NULL     -- a byte of type and 8 of hash each, little-endian
        )
        """,
        """
        CREATE TABLE names (
            id INTEGER PRIMARY KEY,    -- 63-bit hash of the list
            names TEXT NOT NULL,       -- JSON
            newest INTEGER NOT NULL    -- id of the last entry that used it
        )
        """,
        "CREATE TABLE tally (rows INTEGER NOT NULL)",
        "INSERT INTO tally VALUES (0)",
    ),
    (
        """
        CREATE TABLE late (
            place INTEGER PRIMARY KEY, -- in the queue: in the order in which they were found
            id INTEGER NOT NULL UNIQUE, -- verdict.id
            time REAL NOT NULL,
            before TEXT NOT NULL,      -- the verdict that was given
            score_before REAL NOT NULL,
            verdict TEXT NOT NULL,
            score REAL NOT NULL,
            line REAL NOT NULL,
            decided_by TEXT NOT NULL,
            rules NOT NULL,            -- JSON
            findings NOT NULL,         -- JSON, those that are new
            facts NOT NULL,            -- JSON, an object: those that are new
            shingles BLOB NOT NULL     -- as in evidence, those that are new
        )
        """,
    ),
    (
        # JSON; NULL: everything in shadow mode changes nothing
        "ALTER TABLE verdict ADD COLUMN would",
        # `journal.evidence`; NULL: of a message that was not scanned, or of an older Oborona
        "ALTER TABLE evidence ADD COLUMN kept",
        """
        CREATE TABLE policy (
            place INTEGER PRIMARY KEY, -- in the order in which they were first in force
            version TEXT NOT NULL UNIQUE,
            rules NOT NULL             -- JSON, an object: what each rule asks, by name, as a hash
        )
        """,
    ),
    (
        """
        CREATE TABLE arrival (
            place INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice; ids are no order: workers write them in batches
            id INTEGER NOT NULL,       -- verdict.id
            late INTEGER NOT NULL      -- 1: of what was found late in it
        )
        """,
        # The places of a journal that is begun in the stead of a damaged one lie above all of the
        # old one's.
        "INSERT INTO sqlite_sequence (name, seq) VALUES ('arrival', strftime('%s', 'now') * 1000000)",
        f"""
        INSERT INTO arrival (id, late) SELECT id, 0 FROM verdict WHERE verdict IN ('accept', 'spam')
            AND id >= ((strftime('%s', 'now') - {EPOCH + SEEN_BEFORE_S}) * 1000) << {TIME_SHIFT} ORDER BY id
        """,  # noqa: S608 - numbers of ours
        """
        CREATE TABLE went (
            id INTEGER NOT NULL,       -- verdict.id
            recipient NOT NULL,
            spam INTEGER NOT NULL,     -- to the spam folder
            time REAL NOT NULL,        -- when it was handed over
            PRIMARY KEY (id, recipient)
        ) WITHOUT ROWID
        """,
    ),
    ("ALTER TABLE verdict ADD COLUMN header_from",),  # NULL: of an older Oborona
    (
        """
        CREATE TABLE refusal (
            id INTEGER PRIMARY KEY,    -- the reference, in order of time
            head INTEGER NOT NULL,     -- id of the first of those that are counted together
            time REAL NOT NULL,
            stage TEXT NOT NULL,       -- of what was judged
            told TEXT NOT NULL,        -- where the client heard of it
            verdict TEXT NOT NULL,
            score REAL NOT NULL,
            line REAL NOT NULL,
            decided_by TEXT NOT NULL,
            policy_version TEXT NOT NULL,
            queue_id,                  -- NULL = unknown. Texts as in `verdict`
            network NOT NULL,          -- of the client; empty = of any, where they were too many
            client_ip NOT NULL,        -- its network, where the reference is shared
            helo NOT NULL,
            sender NOT NULL,
            recipients NOT NULL,       -- JSON, the first
            login NOT NULL,
            rules NOT NULL,            -- JSON
            shared INTEGER NOT NULL,   -- 1: given to all who are not told apart
            times INTEGER,             -- of all that are counted together, in the head; NULL elsewhere
            named INTEGER,             -- recipients of all of them, the same
            last REAL                  -- the same
        )
        """,
        "CREATE INDEX refusal_queue_id ON refusal (queue_id) WHERE queue_id IS NOT NULL",
        "ALTER TABLE tally ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0",
    ),
    (
        # the listener that it came by; NULL: of an older Oborona
        "ALTER TABLE verdict ADD COLUMN door",
        "ALTER TABLE refusal ADD COLUMN door",
    ),
)
VERSION: Final = len(MIGRATIONS)
FORMAT: Final = SqliteFormat(APPLICATION_ID, MIGRATIONS, "a journal")

_log = logging.getLogger("oborona.journal")
# beside the journal, while somebody has met damage in it and nobody has looked
SUSPECT: Final = ".suspect"


def prepare(path: Path, now: Callable[[], float] = time.time) -> Path | None:
    """Make the journal ready: before the processes that write it are started, and when one of them
    finds it gone or damaged.

    A new file is made, an older version brought up. A damaged file is renamed, never deleted, and a
    new one begun, so that mail goes on; what the old one holds can still be had with
    `sqlite3 FILE .recover`. Whether it is damaged is looked for at its ends and in its length, and
    in all of it where somebody has met damage: `mark_suspect`. Several processes may do this at
    once: one prepares, the others wait for it, by a lock beside the file.

    Args:
        path: the journal; its folder exists.
        now: the clock, for the name of a damaged file.

    Returns:
        Where the damaged file was put, None when there was none.

    Raises:
        StoreVersion: written by a newer Oborona.
        StoreBusy: another process has been preparing it for `PREPARE_S`.
        StoreError: not ours, or cannot be opened or written.
    """
    with hold(
        path.with_name(state_files.JOURNAL_LOCK),
        "oborona, preparing the journal",
        patience_s=PREPARE_S,
    ):
        doubt = suspicion(path)
        damage = _damage(path, doubt)
        if damage is None:
            if doubt:
                _log.warning(
                    "journal: %s: all of it can be read, though somebody met this: %s", path, doubt
                )
                _forget_doubt(path)
            return None
        aside = set_aside(path, "damaged", now())
        _forget_doubt(path)
        words = str(damage).removeprefix(f"{path}: ")
        store_birth.note_lost(
            path.parent, path.name, f"{words}, and was set aside whole as {aside}"
        )
        open_writer(path).close()
        return aside


def classify_error(error: Exception, path: Path) -> StoreError:
    """Return what an error of SQLite means.

    Of damage, leave a note for the keeper, who looks at all of the file.
    """
    fault = explained_error(error, path)
    if isinstance(fault, SqliteFileDamaged):
        mark_suspect(path, str(fault))
    return fault


def mark_suspect(path: Path, why: str) -> None:
    """Leave a note that the journal may be damaged; never raises."""
    with suppress(OSError):
        if not suspicion(path):
            part_of(path, SUSPECT).write_text(f"{why}\n", "utf-8", "replace")


def suspicion(path: Path) -> str:
    """Return why the journal may be damaged; empty = nobody has said so."""
    try:
        return part_of(path, SUSPECT).read_text("utf-8", "replace").strip() or "?"
    except OSError:
        return ""


def _forget_doubt(path: Path) -> None:
    try:
        part_of(path, SUSPECT).unlink(missing_ok=True)
    except OSError as error:
        raise explained_error(error, path) from error


def _damage(path: Path, doubt: str) -> SqliteFileDamaged | None:
    """Return how a file is damaged; a missing one is made, an older one brought up."""
    try:
        with closing(open_writer(path)) as db, closed_on_error(db, path):
            if is_cut_short(db, path):
                return SqliteFileDamaged(f"{path}: is damaged (it is shorter than its pages)")
            # the second reads indexes, too
            for check in ("quick_check", "integrity_check") if doubt else ():
                (answer,) = db.execute(f"PRAGMA {check}(1)").fetchone()
                if answer != "ok":
                    return SqliteFileDamaged(f"{path}: is damaged ({answer})")
    except SqliteFileDamaged as damage:
        return damage
    except (TypeError, ValueError, OverflowError) as error:  # what should be a number is none
        return SqliteFileDamaged(f"{path}: is damaged ({type(error).__name__}: {error})")
    return None


def open_writer(path: Path) -> sqlite3.Connection:
    """Return a connection that writes, in autocommit; makes the file or brings it up to `VERSION`.

    Raises:
        StoreVersion: written by a newer Oborona.
        StoreError: not ours, damaged, or cannot be opened or written.
    """
    db = connect(path, write=True)
    with closed_on_error(db, path):
        new = checked_version(db, path, FORMAT) == 0
        if new:  # both only work before the first table, and auto_vacuum always writes
            db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        db.execute(
            "PRAGMA secure_delete = FAST"
        )  # what is purged is overwritten where that costs no extra page
        migrate(db, FORMAT)
        _check_ends(db)
        birth, fresh = store_birth.ensure_birth(db, path.parent)
    if fresh:
        store_birth.note_birth(path.parent, path.name, birth, fresh=True, empty=new)
    return db


def open_reader(path: Path) -> sqlite3.Connection:
    """Return a connection that can only read, beside whoever writes.

    Raises:
        StoreVersion: written by a newer Oborona.
        StoreError: there is none, it is not ours, damaged, or cannot be opened.
    """
    db = connect(path, write=False, absent="there is no journal")
    with closed_on_error(db, path):
        version = checked_version(db, path, FORMAT)
        if version < VERSION:
            raise StoreError(
                f"{path}: is of version {version}; starting Oborona brings it up to {VERSION}"
            )
    return db


def _check_ends(db: sqlite3.Connection) -> None:
    """Read the last row of each table: a file cut short shows there."""
    db.execute("SELECT rows FROM tally").fetchone()
    for table in ("verdict", "evidence", "names", "refusal"):
        db.execute(f"SELECT * FROM {table} ORDER BY id DESC LIMIT 1").fetchone()  # noqa: S608 - literals above
    for table in ("late", "arrival"):
        db.execute(f"SELECT * FROM {table} ORDER BY place DESC LIMIT 1").fetchone()  # noqa: S608 - literals above
    db.execute("SELECT * FROM went ORDER BY id DESC LIMIT 1").fetchone()
