"""What the last change was that a machine's file had, to know the log again by it.

Numbers alone do not tell it. A log that lost its last changes (a standby that had not got them took
the place of the primary, an older backup was put back) gives their numbers again, to others.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from oborona.sqlite_file import ERRORS, connect, explained_error

if TYPE_CHECKING:
    from oborona.replication.log import LoggedChange, ReplicationLog
    from oborona.replication.recorded_connection import RecordedConnection

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS replica_mark (single INTEGER PRIMARY KEY CHECK (single),"
    " number INTEGER NOT NULL, token BLOB NOT NULL)"
)


def note_mark(db: RecordedConnection, change: LoggedChange) -> None:
    """Write down, within the transaction that does it, which change was done last."""
    db.run(_TABLE)
    db.run("INSERT OR REPLACE INTO replica_mark VALUES (1, ?, ?)", (change.number, change.token))


def drop_mark(db: sqlite3.Connection) -> None:
    """Forget it, of a file that follows no log any more."""
    db.execute("DROP TABLE IF EXISTS replica_mark")


def unplace(path: Path) -> None:
    """Make a file nobody's replica, where there is one.

    Raises:
        StoreError: it can't be written.
    """
    if not path.exists():
        return
    try:
        with closing(connect(path, write=True)) as db:
            db.execute("DROP TABLE IF EXISTS replica")
            drop_mark(db)
    except ERRORS as error:
        raise explained_error(error, path) from error


def is_another_log(db: sqlite3.Connection, number: int, log: ReplicationLog, store: str) -> bool:
    """Tell whether the log has not the change that a file had last, but another one, or none yet.

    Args:
        db: the file.
        number: of that change. Where the file does not know more of it, as an older Oborona leaves
            it, or the log no more, the numbers are compared.
        log: the log.
        store: name of the file in it.
    """
    ((head, token),) = log.question(
        "SELECT s.number, c.token FROM store s LEFT JOIN change c"
        " ON c.store = s.name AND c.number = %s WHERE s.name = %s",
        (number, store),
    ) or [(number, None)]
    if number > head:
        return True
    there = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'replica_mark'").fetchone()
    row = db.execute("SELECT number, token FROM replica_mark").fetchone() if there else None
    return (
        row is not None and row[0] == number and token is not None and bytes(token) != bytes(row[1])
    )
