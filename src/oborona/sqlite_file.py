"""A SQLite file of ours: opened, told from other people's, brought up to date, and its errors in an
admin's words.

`application_id` says whose file it is, `user_version` how many migrations were applied. A migration
that was released is never changed; the next one is added below it.

A file that any number of processes write is a `SharedSqliteFile`. A damaged one is left where it
is, for it holds people's work, and the error says how it is mended. Each file carries its birth
(`oborona.store_birth`): one that is begun in the stead of another, at a start or while it is in
use, is told.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from oborona import store_birth
from oborona.atomic_file import OpenFileCheck
from oborona.errors import (
    StoreAbsent,
    StoreBusy,
    StoreError,
    StoreForbidden,
    StoreFull,
    StoreVersion,
)
from oborona.replication.link import COMMON, ReplicationLink, link_path, read_link

if TYPE_CHECKING:
    from oborona.replication.replica import StoreReplica, TurnGuard

# waiting for another process's transaction, which takes milliseconds; an import some 2 s
BUSY_S: Final = 5.0
MODE: Final = 0o640  # who wrote to whom, and what a filter looks for, is nobody else's business
CHANCE: Final = ":chance"  # in a migration: 16 octets that nobody else has
_FORBIDDEN: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# the file last: until it has gone, the next start sets the rest aside
PARTS: Final = ("-shm", "-wal", "")

ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite's module raises of a file: the second is of an error text of SQLite's that quotes
damaged octets.
"""


class SqliteFileDamaged(StoreError):  # noqa: N818 - reads as what happened
    """The file is no whole SQLite file."""

    why = "damaged"


class SqliteFormat(NamedTuple):
    """What a file holds."""

    application_id: int
    migrations: tuple[tuple[str, ...], ...]  # SQL, of each version from 1 on
    called: str  # as in "is no ..."


def connect(
    path: Path,
    *,
    write: bool,
    absent: str = "",
    mode: int = MODE,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> sqlite3.Connection:
    """Return a connection in autocommit, for one thread at a time.

    Args:
        path: the file; its folder exists.
        write: it is also to be written.
        absent: what to say where there is no file; empty = one is made.
        mode: of a file that is made; SQLite gives the same to what it keeps beside it.
        factory: class of the connection.

    Raises:
        StoreAbsent: there is none.
        StoreError: it can't be opened.
    """
    try:
        if not path.exists():
            if absent:
                raise StoreAbsent(
                    f"{path}: {absent}; has Oborona run with this state folder?", path.name
                )
            path.touch(mode=mode)
        for suffix in PARTS:  # SQLite says of a folder in its place that it can't be opened
            part = part_of(path, suffix)
            # one look: who closes the file last takes what lies beside it away meanwhile
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(part.stat().st_mode):
                    raise SqliteFileDamaged(f"{path}: is damaged ({part.name} is no plain file)")
        address = f"{path.absolute().as_uri()}?mode={'rw' if write else 'ro'}"
        # aiosqlite works on it in a thread of its own, one call at a time.
        return sqlite3.connect(
            address,
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
            factory=factory,
        )
    except (OSError, sqlite3.Error) as error:
        raise explained_error(error, path) from error


@contextmanager
def closed_on_error(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Close the connection if what is done with it fails.

    Errors of SQLite come out as `StoreError`.
    """
    try:
        yield
    except ERRORS as error:
        db.close()
        raise explained_error(error, path) from error
    except BaseException:
        db.close()
        raise


def explained_error(error: Exception, path: Path) -> StoreError:
    """Return what an error of SQLite or the system means, in an admin's words."""
    whole = getattr(error, "sqlite_errorcode", 0)
    code = whole & 0xFF
    # of the log's index: the same
    if code == sqlite3.SQLITE_FULL or whole == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFull(f"{path}: no room left on the disk")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{path}: another process holds it for over {BUSY_S:g} seconds")
    if code in _DAMAGED or isinstance(error, UnicodeDecodeError):
        return SqliteFileDamaged(f"{path}: is damaged ({error})")
    if isinstance(error, PermissionError) or (code in _FORBIDDEN and not _allowed(path)):
        return StoreForbidden(f"{path}: Permission denied")
    if isinstance(error, OSError):
        return StoreError(f"{path}: {error.strerror or error}")
    name = getattr(error, "sqlite_errorname", "")
    return StoreError(f"{path}: {error}{f' [{name}]' if name else ''}")


def part_of(path: Path, suffix: str) -> Path:
    """Return a file that SQLite keeps beside another."""
    return path.with_name(path.name + suffix)


def _allowed(path: Path) -> bool:
    """Whether this user may read and write the file, and what SQLite keeps beside it."""
    return os.access(path, os.R_OK | os.W_OK, effective_ids=True) and os.access(
        path.parent, os.W_OK | os.X_OK, effective_ids=True
    )


def checked_version(db: sqlite3.Connection, path: Path, sqlite_format: SqliteFormat) -> int:
    """Return the version of a file, 0 of an empty one; in no transaction.

    Raises:
        StoreVersion: written by a newer Oborona.
        StoreError: not ours.
    """
    db.execute("BEGIN")  # all of one moment: another process may be making the file
    (owner,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    db.execute("COMMIT")
    if owner != sqlite_format.application_id and (owner or version or tables):
        raise StoreError(f"{path}: is a SQLite file, and not {sqlite_format.called} of Oborona")
    if version > len(sqlite_format.migrations):
        raise StoreVersion(
            f"{path}: is of version {version}, this Oborona knows "
            f"{len(sqlite_format.migrations)}: written by a newer one"
        )
    return int(version)


def migrate(db: sqlite3.Connection, sqlite_format: SqliteFormat) -> None:
    """Apply what is missing; another process may be doing the same."""
    newest = len(sqlite_format.migrations)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == newest:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        _run_migrations(db, sqlite_format)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _run_migrations(db: sqlite3.Connection, sqlite_format: SqliteFormat) -> None:
    """Apply what is missing, within a transaction."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    for statements in sqlite_format.migrations[version:]:
        for statement in statements:
            if CHANCE in statement:  # a value, for all machines have the same
                db.execute(statement, {CHANCE[1:]: secrets.token_bytes(16)})
            else:
                db.execute(statement)
    db.execute(f"PRAGMA application_id = {sqlite_format.application_id}")
    db.execute(f"PRAGMA user_version = {max(version, len(sqlite_format.migrations))}")


def _set_modes(db: sqlite3.Connection, statements: Iterable[str]) -> None:
    """Run what says how a file is kept, outside a transaction; others may be doing the same."""
    until = time.monotonic() + BUSY_S
    for statement in statements:
        while True:
            try:
                db.execute(statement)
                break
            except sqlite3.OperationalError as error:
                # two who change the mode of the journal at once are refused without a wait
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.005)


class SqliteFileKind(NamedTuple):
    """How a file of one kind is opened."""

    format: SqliteFormat
    absent: str  # what to say where there is none, and none is to be begun
    # what is told, after a new one is begun, of what a damaged one leaves; empty = nothing
    left: str
    first: tuple[str, ...] = ()  # statements that only work before the first table
    each: tuple[str, ...] = ("PRAGMA journal_mode = WAL",)  # statements for each connection
    mode: int = MODE  # of a file that is begun

    def open(self, path: Path, *, make: bool = True) -> sqlite3.Connection:
        """Return a connection in autocommit that reads and writes, for one thread at a time.

        Args:
            path: the file; its folder exists.
            make: begin one where there is none.

        Raises:
            StoreVersion: written by a newer Oborona.
            StoreError: there is none, it is not ours, damaged, or can't be opened or written.
        """
        replica = self.replica(path)
        db = connect(
            path,
            write=True,
            absent="" if make else self.absent,
            mode=self.mode,
            factory=sqlite3.Connection if replica is None else replica.factory,
        )
        try:
            with closed_on_error(db, path):
                new = checked_version(db, path, self.format) == 0
                _set_modes(db, (*(self.first if new else ()), *self.each))
                if replica is None:
                    migrate(db, self.format)
                else:
                    # what the power takes of it is in the log, and done again
                    db.execute("PRAGMA synchronous = NORMAL")
                    replica.claim(db, self.format.application_id, new=new)
                birth, fresh = store_birth.ensure_birth(db, path.parent)
                if replica is not None:
                    replica.bring_up(db)
        except SqliteFileDamaged as damage:
            raise self._mended(damage) from damage
        if fresh:
            store_birth.note_birth(path.parent, path.name, birth, fresh=True, empty=new)
        return db

    def link(self, path: Path) -> ReplicationLink | None:
        """Return the log that a file follows; None = it is this machine's alone.

        Raises:
            StoreError: it can't be known.
        """
        link = read_link(path.parent) if path.name in COMMON else None
        return link if link is not None and path.name in link.stores else None

    def replica(self, path: Path) -> StoreReplica | None:
        """Return how a file is kept the same on all machines; None = it is this one's alone.

        Raises:
            StoreError: it can't be known.
        """
        link = self.link(path)
        if link is None:
            return None
        # of those alone who have several machines
        from oborona.replication.replica import StoreReplica  # noqa: PLC0415

        return StoreReplica(
            path, link, len(self.format.migrations), lambda db: _run_migrations(db, self.format)
        )

    def told(self, error: Exception, path: Path) -> StoreError:
        """Return what an error of SQLite means, in an admin's words."""
        explained = explained_error(error, path)
        return self._mended(explained) if isinstance(explained, SqliteFileDamaged) else explained

    def _mended(self, damage: SqliteFileDamaged) -> SqliteFileDamaged:
        return SqliteFileDamaged(
            f"{damage}; `sqlite3 FILE .recover` reads what is left of it. Move it away, "
            f"and a new one is begun{self.left}"
        )


def check_alone(db: sqlite3.Connection, path: Path) -> None:
    """Refuse to write to a file past the log of its site: the other machines would not have it.

    Raises:
        StoreError: it is one of several machines, and this connection knows of no log.
    """
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'replica'").fetchone():
        raise StoreError(
            f"{path}: is one of a site of several machines, and {link_path(path.parent).name} beside "
            "it, which says where its log is, is gone or was written just now: try again; `oborona "
            "site join` or `oborona site leave` where it stays so"
        )


class SharedSqliteFile:
    """An open file; to be used by one thread at a time, and closed.

    Args:
        path: the file; its folder exists.
        make: begin one where there is none.

    Raises:
        StoreError: as of `SqliteFileKind.open`; every method raises it when the file can't be read
            or written.

    Attributes:
        guard: raises what keeps this process from writing, in a site of several machines; for who
            does what one machine does at a time.
    """

    shared: ClassVar[SqliteFileKind]
    guard: TurnGuard | None = None

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.path = path
        self._open_file(make=make)

    def _open_file(self, *, make: bool = True) -> None:
        self._db = self.shared.open(self.path, make=make)
        self._file = OpenFileCheck(self.path)
        self._replica = self.shared.replica(self.path)

    @property
    def machine(self) -> str:
        """Name of this machine among those that have the file; empty = it is this one's alone."""
        return "" if self._replica is None else self._replica.machine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written within, or nothing; nobody else writes meanwhile.

        Within another one it is a part of that: what fails in the part is undone, and no more.
        """
        if self._db.in_transaction:
            with self._part():
                yield self._db
            return
        linked = self.shared.link(self.path) is not None
        if not self._file.in_place() or linked != (self._replica is not None):
            self._db.close()
            self._open_file()
        if self._replica is not None:
            with self.told(), self._replica.turn(self._db, self.guard):
                yield self._db
            return
        with self.told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if self.path.name in COMMON:
                    check_alone(self._db, self.path)
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def tried(self) -> Iterator[None]:
        """All that is written within is seen within, and taken back at the end; the log of a site
        is not asked.
        """
        with self.told():
            if self._replica is not None:
                with self._replica.trial(self._db):
                    yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @contextmanager
    def _part(self) -> Iterator[None]:
        with self.told():
            self._db.execute("SAVEPOINT part")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # some errors have undone the whole
                    self._db.execute("ROLLBACK TO part")
                    self._db.execute("RELEASE part")
                raise
            self._db.execute("RELEASE part")

    @contextmanager
    def told(self) -> Iterator[sqlite3.Connection]:
        """Errors of SQLite within come out as `StoreError`."""
        try:
            yield self._db
        except ERRORS as error:
            raise self.shared.told(error, self.path) from error

    def data_version(self) -> int:
        """Return a number that changes when somebody else has written: 10 µs, for those who wait.

        What was brought here from other machines may have come by this connection.
        """
        ((number,),) = self.rows("PRAGMA data_version")
        if self._replica is not None:
            ((place,),) = self.rows("SELECT number FROM replica")
            return (int(number) << 48) + int(place)
        return int(number)

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return all rows of a question."""
        with self.told():
            return self._db.execute(sql, values).fetchall()
