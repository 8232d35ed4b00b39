"""Compares a machine's common stores with the site's log, row by row.

What the log has is made beside: its snapshot, and each change since. What the machine has is copied
first, at the change at which it is, so that mail and other changes go on meanwhile.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Final

import msgspec

from oborona.daemon.site.common_kinds import COMMON_KINDS
from oborona.daemon.site.snapshot import copied, fetched, last_snapshot
from oborona.errors import StoreError
from oborona.replication.link import ReplicationLink
from oborona.replication.log import ReplicationLog
from oborona.replication.recorded_connection import RecordedConnection
from oborona.replication.replica import ReplicaDivergedError, StoreReplica, position_of
from oborona.sqlite_file import connect

# of the machine, in a store that is common
OWN_TABLES: Final = ("replica", "replica_mark", "begun")
_SHOWN: Final = 80  # characters of a row


class CheckedStore(msgspec.Struct, frozen=True):
    """What came of the comparison of a store."""

    store: str
    number: int  # of the change at which both are
    rows: int  # that are the same
    difference: str  # the first; empty = there is none


def check_stores(log: ReplicationLog, state: Path, link: ReplicationLink) -> Iterator[CheckedStore]:
    """Yield what came of each common store of a machine.

    Args:
        log: the site's.
        state: the state folder.
        link: what it follows, or is about to.

    Raises:
        StoreError: the log or a store can't be read.
    """
    heads = log.heads()
    for name in link.stores:
        if name in heads and ((state / name).exists() or heads[name].number):
            yield check_store(log, state, name, link)


def check_store(log: ReplicationLog, state: Path, name: str, link: ReplicationLink) -> CheckedStore:
    """Compare one store; see `check_stores`."""
    path = state / name
    if not path.exists():
        return CheckedStore(name, 0, 0, "it is not here")
    kind = COMMON_KINDS[name]
    with tempfile.TemporaryDirectory(prefix=".check-", dir=state) as folder:
        here, there = Path(folder) / "here" / name, Path(folder) / "there" / name
        for copy in (here, there):
            copy.parent.mkdir()
        with copied(path, here):
            pass
        _fetch(log, there)
        new = not there.exists()
        with _opened(here) as mine, _opened(there) as theirs:
            position = position_of(mine)
            if position.site != link.site:
                return CheckedStore(name, 0, 0, "it is of another site, or of none")
            one, other = (
                StoreReplica(copy, link, len(kind.format.migrations), _no_migration)
                for copy in (here, there)
            )
            other.claim(theirs, kind.format.application_id, new=new)
            number = max(position_of(theirs).number, position.number)
            try:
                one.follow_to(mine, log, number)
                other.follow_to(theirs, log, number)
            except ReplicaDivergedError as error:
                return CheckedStore(name, number, 0, str(error).replace(str(here), name))
            rows, difference = compare(mine, theirs)
    return CheckedStore(name, number, rows, difference)


def compare(mine: sqlite3.Connection, theirs: sqlite3.Connection) -> tuple[int, str]:
    """Return how many rows of two files are the same, and the first difference, empty where there
    is none: of tables, indexes and triggers as they were made, and of each value in each row with
    its type.
    """
    shapes = [list(db.execute(_SHAPES, OWN_TABLES * 2)) for db in (mine, theirs)]
    if shapes[0] != shapes[1]:
        return 0, "its tables are others than the site's"
    rows = 0
    for (table,) in mine.execute(_TABLES, OWN_TABLES).fetchall():
        order = _order(mine, table)
        asked = f'SELECT {order}, * FROM "{table}" ORDER BY {order}'  # noqa: S608 - of the schema
        for one, other in zip_longest(mine.execute(asked), theirs.execute(asked)):
            if one != other or [*map(type, one)] != [*map(type, other)]:
                return rows, (
                    f"table {table}: here {_shown(one)}, in the site's log {_shown(other)}"
                )
            rows += 1
    return rows, ""


_SHAPES: Final = (
    "SELECT type, name, sql FROM sqlite_schema WHERE name NOT IN (?, ?, ?)"
    " AND tbl_name NOT IN (?, ?, ?) ORDER BY type, name"
)
_TABLES: Final = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    " AND name NOT IN (?, ?, ?)"
    " AND name NOT LIKE 'sqlite_stat%' ORDER BY name"
)


def _order(db: sqlite3.Connection, table: str) -> str:
    """Return by what the rows of a table are ordered: its key, and the number of each row where it
    has one.
    """
    columns = db.execute("SELECT name, pk FROM pragma_table_info(?)", (table,)).fetchall()
    (without,) = db.execute("SELECT wr FROM pragma_table_list(?)", (table,)).fetchone()
    if not without:
        return "rowid"
    keys = sorted((place, name) for name, place in columns if place)
    return ", ".join(f'"{name}"' for _, name in keys)


def _shown(row: tuple[object, ...] | None) -> str:
    if row is None:
        return "no row"
    text = ", ".join(repr(value) for value in row)
    return f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text


def _fetch(log: ReplicationLog, copy: Path) -> None:
    """Make a file of the log's last snapshot, where it has one."""
    snapshot = last_snapshot(log, copy.name)
    if snapshot is not None:
        with fetched(log, snapshot, copy.parent) as whole:
            whole.replace(copy)


@contextmanager
def _opened(copy: Path) -> Iterator[RecordedConnection]:
    db = connect(copy, write=True, factory=RecordedConnection)
    assert isinstance(db, RecordedConnection)
    with closing(db):
        db.run("PRAGMA synchronous = OFF")  # it is thrown away
        yield db


def _no_migration(_db: sqlite3.Connection) -> None:
    raise StoreError("a copy that is compared is not brought to another format")
