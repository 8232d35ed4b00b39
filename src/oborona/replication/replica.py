"""One machine's file of a common store: written in turns, and brought to where the log is.

The file says itself how far it is (`replica`), in the transaction that brings it there: each change
is done to it once, whenever what process ends.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from oborona.errors import StoreBusy, StoreError, StoreVersion
from oborona.replication.link import ReplicationLink, link_path
from oborona.replication.log import (
    AT_ONCE,
    AT_ONCE_OCTETS,
    LogForeignError,
    LoggedChange,
    LogUnreachableError,
    ReplicationLog,
)
from oborona.replication.log_pool import pooled_log
from oborona.replication.recorded_connection import RecordedConnection
from oborona.replication.replica_mark import is_another_log, note_mark
from oborona.replication.statement import RecordedStatement, decode, encode, is_change

TurnGuard: TypeAlias = Callable[[ReplicationLog], None]
TOKEN_BYTES: Final = 12
DOUBT_S: Final = 5.0  # that is waited for the log, to know whether it has a change
_PAUSE_S: Final = 0.2
_TABLE: Final = "CREATE TABLE IF NOT EXISTS replica (site TEXT NOT NULL, number INTEGER NOT NULL)"


class ReplicaDivergedError(StoreError):
    """A machine's file is not what the others have: a change does not fit it."""


class ReplicaLaggingError(StoreError):
    """The log has no more what comes next: a snapshot is needed."""


class ReplicaPosition(NamedTuple):
    """How far a file is."""

    site: str  # mark of the log; empty = it is of none
    number: int  # of the last change that was done to it


def position_of(db: sqlite3.Connection) -> ReplicaPosition:
    """Return how far a file is.

    Raises:
        sqlite3.Error: it can't be read.
    """
    there = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'replica'").fetchone()
    row = db.execute("SELECT site, number FROM replica").fetchone() if there else None
    return ReplicaPosition("", 0) if row is None else ReplicaPosition(*row)


def place(db: sqlite3.Connection, position: ReplicaPosition) -> None:
    """Write into a file, within a transaction, how far it is."""
    db.execute(_TABLE)
    db.execute("DELETE FROM replica")
    db.execute("INSERT INTO replica VALUES (?, ?)", position)


class StoreReplica:
    """A store's file and the log; for one thread at a time.

    Args:
        path: the file.
        link: the log.
        newest: version of the file's format that this Oborona writes.
        migrate: brings an open file to it, statement by statement, within a transaction.

    Attributes:
        machine: name of this one in the log.
    """

    def __init__(
        self,
        path: Path,
        link: ReplicationLink,
        newest: int,
        migrate: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._path = path
        self._store = path.name
        self._link = link
        self._newest = newest
        self._migrate = migrate
        self.machine = link.machine

    factory = RecordedConnection  # class of connections to it

    def claim(self, db: sqlite3.Connection, application_id: int, *, new: bool) -> None:
        """Make a file that has nothing yet a replica at no change; look whether another one is.

        Args:
            db: made by `factory`.
            application_id: of the file's format.
            new: nothing is in the file yet.

        Raises:
            LogForeignError: the file is of another log, or of none.
        """
        assert isinstance(db, RecordedConnection)
        position = position_of(db)
        if new and not position.site:
            db.run("BEGIN IMMEDIATE")
            if not position_of(db).site:
                place(db, ReplicaPosition(self._link.site, 0))
                db.run(f"PRAGMA application_id = {application_id}")
            db.run("COMMIT")
        elif position.site != self._link.site:
            raise LogForeignError(
                f"{self._path}: is of another log than {link_path(self._path.parent)} names"
            )

    @contextmanager
    def turn(self, db: sqlite3.Connection, guard: TurnGuard | None = None) -> Iterator[None]:
        """A transaction of the file that is a change of all machines: all of it, everywhere, or
        nothing. Where this machine's disk takes it no more once the log has it, it is done here by
        whoever looks next.

        Args:
            db: made by `factory`.
            guard: raises what keeps this process from writing now; nobody else writes meanwhile.

        Raises:
            LogUnreachableError: the log can't be; nothing is written.
            StoreVersion: a newer Oborona has changed the store's format.
            ReplicaLaggingError, ReplicaDivergedError: the file is not what the log is of.
        """
        assert isinstance(db, RecordedConnection)
        change: LoggedChange | None = None
        with pooled_log(self._link) as log:
            try:
                with log.turn(self._store) as head:
                    if guard is not None:
                        guard(log)
                    self._catch_up(db, log, head.number)
                    record = db.begin_record()
                    db.run("BEGIN IMMEDIATE")
                    before = db.total_changes
                    yield
                    rows = db.total_changes - before
                    (version,) = db.run("PRAGMA user_version").fetchone()
                    if is_change(record):
                        change = LoggedChange(
                            head.number + 1,
                            version,
                            secrets.token_bytes(TOKEN_BYTES),
                            rows,
                            encode(record),
                        )
                        log.append(self._store, change)
                        db.run("UPDATE replica SET number = ?", (change.number,))
                        note_mark(db, change)
            except LogUnreachableError:
                written = False
                try:
                    written = change is not None and self._is_written(log, change)
                finally:
                    if not written:
                        self._undo(db)
                if not written:
                    raise
            except BaseException:
                self._undo(db)
                raise
            try:
                db.run("COMMIT")
            except sqlite3.Error:
                # as where the disk is full; it is written, and done here once there is room
                if change is None:
                    raise
            finally:
                self._undo(db)

    @contextmanager
    def trial(self, db: sqlite3.Connection) -> Iterator[None]:
        """A transaction of the file that is taken back at its end, whatever the log says.

        Args:
            db: made by `factory`.
        """
        assert isinstance(db, RecordedConnection)
        db.begin_record()
        try:
            db.run("BEGIN IMMEDIATE")
            yield
        finally:
            self._undo(db)

    def _undo(self, db: RecordedConnection) -> None:
        if db.in_transaction:
            db.run("ROLLBACK")
        if db.record is not None:
            db.end_record()

    def _is_written(self, log: ReplicationLog, change: LoggedChange) -> bool:
        """Whether the log has a change whose end was not heard of.

        Raises:
            LogUnreachableError: it does not say so in time: the change may come with the others'.
        """
        until = time.monotonic() + DOUBT_S
        while True:
            # busy: PostgreSQL has not come to the end of it, as where it waits for a standby
            with suppress(LogUnreachableError, StoreBusy):
                # its turn: who began to write before has ended
                with log.turn(self._store):
                    found = log.question(
                        "SELECT token FROM change WHERE store = %s AND number = %s",
                        (self._store, change.number),
                    )
                return [bytes(token) for (token,) in found] == [change.token]
            if time.monotonic() > until:
                raise LogUnreachableError(
                    "the site's log was lost while it wrote a change: whether it has it is seen when "
                    "it is there again"
                )
            time.sleep(_PAUSE_S)

    def bring_up(self, db: sqlite3.Connection) -> None:
        """Give the store the format of this Oborona, on all machines, where it is older.

        From now on the connection writes in turns alone.

        Raises:
            StoreError: it is older, and can't be changed now.
        """
        assert isinstance(db, RecordedConnection)
        if _version(db) < self._newest:
            with self.turn(db):
                if _version(db) < self._newest:  # what others did may have brought it there
                    self._migrate(db)
        db.end_record()

    def follow(self, db: RecordedConnection, log: ReplicationLog) -> int:
        """Do to the file what the log has; return the number of the last change.

        Raises:
            StoreVersion, ReplicaLaggingError, ReplicaDivergedError: it goes no further.
        """
        self._catch_up(db, log, None)
        return position_of(db).number

    def follow_to(self, db: RecordedConnection, log: ReplicationLog, number: int) -> None:
        """Do to the file what the log has up to a number, and no more.

        Args:
            db: made by `factory`.
            log: of the file's site, of which the caller has made sure.
            number: of the last change that is done.

        Raises:
            ReplicaLaggingError: the log has that no more.
            StoreVersion, ReplicaDivergedError: it goes no further.
        """
        while (after := position_of(db).number) < number:
            changes = [one for one in log.changes(self._store, after) if one.number <= number]
            if not changes:
                raise ReplicaLaggingError(_lagging(self._path, after))
            self._do(db, after, changes)

    def _catch_up(self, db: RecordedConnection, log: ReplicationLog, to: int | None) -> None:
        """Do what is in the log up to a number, None = to its end."""
        log.check(self._link.site)
        while True:
            position = position_of(db)
            if position.site != self._link.site:
                raise LogForeignError(f"{self._path}: is of another site's log")
            known = self._store in log.known_stores
            if not known and is_another_log(db, position.number, log, self._store):
                raise _put_back(self._path, position.number)
            log.known_stores.add(self._store)
            if to is not None and position.number >= to:
                if position.number > to:
                    raise _put_back(self._path, position.number)
                return
            changes = log.changes(self._store, position.number)
            if not changes:
                if to is not None:
                    raise ReplicaLaggingError(_lagging(self._path, position.number))
                return
            self._do(db, position.number, changes)
            octets = sum(len(change.statements) for change in changes)
            if to is None and len(changes) < AT_ONCE and octets < AT_ONCE_OCTETS:
                return

    def _do(self, db: RecordedConnection, after: int, changes: Sequence[LoggedChange]) -> None:
        """Do some changes in one transaction, but those that another process has done."""
        if changes[0].number != after + 1:
            raise ReplicaLaggingError(_lagging(self._path, after))
        if changes[0].version > self._newest:
            raise StoreVersion(
                f"{self._path}: a newer Oborona has changed its format to {changes[0].version} on "
                f"another machine, this one knows {self._newest}: upgrade it; until then it knows "
                "what it knew, and writes nothing"
            )
        db.begin_record()  # as it is nobody's turn, for its leave to write
        try:
            db.run("BEGIN IMMEDIATE")
            number, last = position_of(db).number, None
            for change in changes:
                if change.number <= number:
                    continue
                if change.version > self._newest:
                    break
                self._run(db, change)
                number, last = change.number, change
            db.run("UPDATE replica SET number = ?", (number,))
            if last is not None:
                note_mark(db, last)
            db.run("COMMIT")
        finally:
            self._undo(db)

    def _run(self, db: RecordedConnection, change: LoggedChange) -> None:
        before = db.total_changes
        try:
            for statement in decode(change.statements):
                _repeat(db, statement)
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError) and _is_disk(
                error
            ):
                raise
            raise ReplicaDivergedError(
                f"{self._path}: change {change.number} of the site's log does not fit it ({error}); "
                "`oborona site join --again` fetches the store anew"
            ) from error
        rows = db.total_changes - before
        if rows != change.rows:
            raise ReplicaDivergedError(
                f"{self._path}: change {change.number} of the site's log changes {rows} rows here, "
                f"and {change.rows} where it was made; `oborona site join --again` fetches the store "
                "anew"
            )


def _repeat(db: RecordedConnection, statement: RecordedStatement) -> None:
    if len(statement.values) == 1:
        db.run(statement.sql, statement.values[0]).fetchall()
    else:
        db.run_many(statement.sql, statement.values)


def _version(db: RecordedConnection) -> int:
    (version,) = db.run("PRAGMA user_version").fetchone()
    return int(version)


def _is_disk(error: sqlite3.Error) -> bool:
    """Whether an error is the disk's, and says nothing of the change."""
    return (error.sqlite_errorcode & 0xFF) in {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_NOMEM,
    }


def _put_back(path: Path, number: int) -> ReplicaDivergedError:
    return ReplicaDivergedError(
        f"{path}: has change {number}, which the site's log has no more: the log was put back to what "
        "it was, or a standby took over that had not got it; `oborona site join` here takes what the "
        "site has now"
    )


def _lagging(path: Path, number: int) -> str:
    return (
        f"{path}: is at change {number}, and the site's log has what follows no more; "
        "`oborona site join --again` fetches the store as it is now"
    )
