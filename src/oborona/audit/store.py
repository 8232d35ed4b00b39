"""The audit log as those use it who act: rows are put at the end of its chain, and old ones
dropped.

What it holds is read by `oborona.audit.reader`.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from oborona.audit import schema
from oborona.audit.row import (
    COLUMNS,
    HASH_BYTES,
    NO_HASH,
    AuditRow,
    RowKind,
    head_seal,
    row_hash,
)
from oborona.errors import StoreForeign
from oborona.sqlite_file import SharedSqliteFile

# that one act drops: a site that has done nothing for long, or whose clock leaps, loses few at once
CUT_ROWS: Final = 2000
CUT_EACH_US: Final = 86_400_000_000  # rows are dropped once they are so much older than they may be
_PLACES: Final = ", ".join("?" * (len(COLUMNS) + 2))
_INSERT: Final = f"INSERT INTO audit ({', '.join(COLUMNS)}, before, hash) VALUES ({_PLACES})"  # noqa: S608 - our own names


class ChainEnd(NamedTuple):
    """A row, as those name it who look for it later."""

    number: int
    hash: bytes


class AuditStore(SharedSqliteFile):
    """An open audit log.

    Args:
        path: its file; the folder exists.
        key: of the site; empty = it has none yet.
        make: begin one where there is none.

    Raises:
        StoreError: as of `SharedSqliteFile`.
    """

    shared = schema.SHARED

    def __init__(self, path: Path, key: bytes = b"", *, make: bool = True) -> None:
        super().__init__(path, make=make)
        self.key = key

    def begin(self, row: AuditRow, keep_us: int) -> ChainEnd:
        """Write that an act begins; it is on the disk when this returns.

        Args:
            row: a `begun` one, whose number is of no account.
            keep_us: rows that are older than this are dropped, in microseconds.

        Raises:
            StoreForeign: earlier rows are hashed under a key, and there is none now.
            StoreError: it can't be written.
        """
        with self.transaction() as db:
            begun = self._append(db, row)
            self._cut(db, begun.number, row.at, row.at - keep_us)
        return begun

    def end(self, begun_row: AuditRow, begun: ChainEnd | None, ended: AuditRow) -> ChainEnd:
        """Write how an act ended; a power failure may take that, and never that it began.

        Args:
            begun_row: as it was begun; it is written again where another log stands in its place,
                as after a restore.
            begun: what `begin` returned; None = it was not written.
            ended: whose `of` is of no account.

        Raises:
            StoreError: it can't be written.
        """
        with self.told() as db:
            db.execute("PRAGMA synchronous = NORMAL")
        with self.transaction() as db:
            if begun is None or self._hash(db, begun.number) != begun.hash:
                begun = self._append(db, begun_row)
            return self._append(db, msgspec.structs.replace(ended, of=begun.number))

    def drop(self, now: int, keep_us: int) -> ChainEnd:
        """Drop rows that are too old, as an act would; return the end of the chain.

        Args:
            now: Unix microseconds.
            keep_us: as of `begin`.

        Raises:
            StoreError: as of `begin`.
        """
        with self.transaction() as db:
            last = self._last(db, now)
            if last.number:
                self._cut(db, last.number, now, now - keep_us)
                last = self._last(db, now)
        return last

    def look(self, row: AuditRow) -> None:
        """Write that somebody looked; a power failure may take that.

        Args:
            row: a `looked` one, whose number is of no account.

        Raises:
            StoreError: it can't be written.
        """
        with self.told() as db:
            db.execute("PRAGMA synchronous = NORMAL")
        with self.transaction() as db:
            self._append(db, row)

    def _append(self, db: sqlite3.Connection, row: AuditRow) -> ChainEnd:
        last = self._last(db, row.at)
        return self._put(db, row, last.number + 1, last.hash)

    def _put(self, db: sqlite3.Connection, row: AuditRow, number: int, before: bytes) -> ChainEnd:
        row = msgspec.structs.replace(row, number=number, keyed=int(bool(self.key)))
        own = row_hash(row, before, self.key)
        db.execute(_INSERT, (*msgspec.structs.astuple(row), before, own))
        db.execute(
            "INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)",
            (number, own, head_seal(number, own, self.key)),
        )
        return ChainEnd(number, own)

    def _last(self, db: sqlite3.Connection, at: int) -> ChainEnd:
        """Return the end of the chain; where it is not as it was left, that is written first."""
        found = db.execute(
            "SELECT number, hash, keyed FROM audit ORDER BY number DESC LIMIT 1"
        ).fetchone()
        head = db.execute("SELECT number, hash, seal FROM head").fetchone()
        if found is None and head is None:
            return ChainEnd(0, NO_HASH)
        number, own, keyed = found or (0, NO_HASH, 0)
        if keyed and not self.key:
            raise StoreForeign(
                f"{self.path}: is kept under the site's secret, which is gone: put it back from a "
                f"backup"
            )
        own = own if isinstance(own, bytes) and len(own) == HASH_BYTES else NO_HASH
        wrong = head_fault(head, number, own, self.key if keyed else b"")
        if not wrong:
            return ChainEnd(number, own)
        after = max(number, head[0] if head is not None and isinstance(head[0], int) else 0) + 1
        broken = AuditRow(number=after, kind=RowKind.BROKEN, at=at, message=wrong)
        return self._put(db, broken, after, own)

    def _hash(self, db: sqlite3.Connection, number: int) -> bytes | None:
        found = db.execute("SELECT hash FROM audit WHERE number = ?", (number,)).fetchone()
        return None if found is None else found[0]

    def _cut(self, db: sqlite3.Connection, newest: int, now: int, horizon: int) -> None:
        """Drop the oldest rows, and write which: the chain goes on from the last one's hash."""
        first, at = db.execute("SELECT number, at FROM audit ORDER BY number LIMIT 1").fetchone()
        if at >= horizon - CUT_EACH_US:
            return
        (kept,) = db.execute(
            "SELECT min(number) FROM audit WHERE number < ? AND at >= ?",
            (first + CUT_ROWS, horizon),
        ).fetchone()
        last = min(newest, first + CUT_ROWS, newest if kept is None else kept) - 1
        cut_hash = self._hash(db, last)
        if last < first or cut_hash is None:  # a gap: it stays, for people to look at
            return
        dropped = db.execute("DELETE FROM audit WHERE number <= ?", (last,)).rowcount
        self._append(
            db,
            AuditRow(
                number=0, kind=RowKind.CUT, at=now, of=last, status=dropped, message=cut_hash.hex()
            ),
        )


def head_fault(head: tuple[int, bytes, bytes] | None, number: int, own: bytes, key: bytes) -> str:
    """Return what is wrong with the end of a chain; empty = nothing.

    Args:
        head: what is kept of it: number, hash, seal.
        number: of the last row, 0 = there is none.
        own: its hash.
        key: under which it was hashed.
    """
    if head is None:
        return f"what is kept of the end of the chain is gone; the last row is {number}"
    if head[0] != number:
        return f"the last row is {number}, and {head[0]} were written"
    if head[1] != own or head[2] != head_seal(number, own, key):
        return f"row {number} is not the one that was written last"
    return ""
