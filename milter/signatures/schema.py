"""The file of the signature store: its tables and their versions, and how it is opened.

    signature  one row each; none is ever deleted: an id is for ever, and who removed it and when is told later
    version    one row: how many changes there were; each row of `signature` has the number of its last
    hits       how often a signature was found, by id, those of policy files included

`application_id` says whose file it is, `user_version` how many migrations were applied.  A damaged file is left where it is, for it holds people's work:
mail goes on without it, and the error says how it is mended.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from oborona.errors import StoreError, StoreVersion
from oborona.recheck.schema import Damaged, explained

FILE: Final = "signatures.db"  # in the state folder
APPLICATION_ID: Final = 0x4F425347  # "OBSG"
BUSY_S: Final = 5.0  # waiting for another process's transaction, which takes milliseconds; an import some 2 s
MODE: Final = 0o640  # what a filter looks for is nobody else's business

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE signature (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            state TEXT NOT NULL,       -- active, proposed, declined, removed
            changed INTEGER NOT NULL,  -- version.number of its last change
            flag TEXT NOT NULL,
            kind TEXT NOT NULL,
            value TEXT NOT NULL,
            normal TEXT NOT NULL,      -- as it is looked for: two with one are the same
            place TEXT NOT NULL,
            inside INTEGER NOT NULL,
            owner TEXT NOT NULL,
            reason TEXT NOT NULL,
            author TEXT NOT NULL,
            created REAL NOT NULL,
            expires REAL NOT NULL,     -- 0: never
            score REAL,
            mode TEXT NOT NULL,
            decided REAL NOT NULL,     -- when its state was last changed, Unix seconds; 0: never
            decided_by TEXT NOT NULL,
            evidence TEXT NOT NULL     -- of a proposal, JSON
        )
        """,
        "CREATE INDEX signature_changed ON signature (changed)",
        "CREATE INDEX signature_normal ON signature (normal)",
        "CREATE TABLE version (number INTEGER NOT NULL)",
        "INSERT INTO version VALUES (0)",
        """
        CREATE TABLE hits (
            id TEXT PRIMARY KEY,
            total INTEGER NOT NULL,
            day INTEGER NOT NULL,      -- of `today`, days since the Unix epoch
            today INTEGER NOT NULL,
            last REAL NOT NULL         -- Unix seconds
        ) WITHOUT ROWID
        """,
    ),
)
VERSION: Final = len(MIGRATIONS)


def open_store(path: Path, *, make: bool = True) -> sqlite3.Connection:
    """Return a connection in autocommit that reads and writes, for one thread at a time.

    Args:
        path: the file; its folder exists.
        make: begin a store where there is none.

    Raises:
        StoreVersion: written by a newer Oborona.
        StoreError: there is none, it is not ours, damaged, or can't be opened or written.
    """
    try:
        if not path.exists():
            if not make:
                raise StoreError(
                    f"{path}: there are no signatures yet; has Oborona run with this state folder?"
                )
            path.touch(mode=MODE)
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
    except (OSError, sqlite3.Error) as error:
        raise explained(error, path) from error
    try:
        _check_owner(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        _migrate(db)
    except sqlite3.Error as error:
        db.close()
        raise told(error, path) from error
    except BaseException:
        db.close()
        raise
    return db


def told(error: Exception, path: Path) -> StoreError:
    """Return what an error of SQLite means, in an admin's words."""
    found = explained(error, path)
    if isinstance(found, Damaged):
        return Damaged(
            f"{found}; `sqlite3 FILE .recover` reads what is left of it. Move it away, and a new one is begun"
        )
    return found


def _check_owner(db: sqlite3.Connection, path: Path) -> None:
    (owner,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if owner != APPLICATION_ID and (owner or version or tables):
        raise StoreError(f"{path}: is a SQLite file, and holds no signatures of Oborona")
    if version > VERSION:
        raise StoreVersion(
            f"{path}: is of version {version}, this Oborona knows {VERSION}: written by a newer one"
        )


def _migrate(db: sqlite3.Connection) -> None:
    """Apply what is missing; another process may be doing the same."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {max(version, VERSION)}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
