"""An SQLite file that any process changes and many follow, and how one process follows it.

    writer: one transaction, numbered by `version.number`, which each changed row bears
    follower: has the version moved? → rows with a higher number, or all of them where it can't go
    on from what it knows

A follower is woken by `oborona.doorbell`: at once where the change rings, as all changes of ours
do, else within a second. All is read again where another
file has the store's name, where the store was put back to what it was before, was damaged, or
forgets. While it can't be read what is known stays, and the log says so, once, and once when it is
over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from oborona.doorbell import ring
from oborona.errors import StoreError
from oborona.sqlite_file import SharedSqliteFile, SqliteFileDamaged
from oborona.telemetry.log import event

READ_WHOLE: Final = -1  # instead of a version
_AT_ONCE: Final = 500  # rows


class VersionedChanges(Protocol):
    """The changes up to a version of a store."""

    @property
    def version(self) -> int: ...


class FollowedStore(SharedSqliteFile):
    """One process's access to a store that has a table `version`; see `SharedSqliteFile`.

    Attributes:
        forgets: rows that are in force no more go in the end; a follower that could not read for a
            while reads all.
    """

    forgets: ClassVar[bool] = False

    def version(self) -> int:
        """Return how many changes there were."""
        with self.told():
            return self._number()

    @contextmanager
    def changing(self) -> Iterator[int]:
        """A transaction that is one change; yields its number, for the rows that change."""
        with self.transaction() as db:
            db.execute("UPDATE version SET number = number + 1")
            yield self._number()
        ring(self.path)

    @contextmanager
    def rows_since(
        self, version: int, *, changed: str, whole: str, now: float
    ) -> Iterator[tuple[int, Iterator[tuple[Any, ...]]]]:
        """Read what has changed since a version, all of it of one moment.

        Args:
            version: that is known; `READ_WHOLE` = none.
            changed: SQL of the rows whose number is above `?`.
            whole: SQL of all rows in force at the Unix time `?`.
            now: Unix seconds.

        Yields:
            The version that it leads to, and the rows.
        """
        with self.told() as db:
            db.execute("BEGIN")
            try:
                number = self._number()
                yield number, self._select(*((changed, version) if version >= 0 else (whole, now)))
            finally:
                db.execute("COMMIT")

    def _select(self, sql: str, argument: float) -> Iterator[tuple[Any, ...]]:
        """Yield rows, read some at a time: the garbage collector stops a worker for as long as
        there are tuples.
        """
        rows = self._db.execute(sql, (argument,))
        while some := rows.fetchmany(_AT_ONCE):
            yield from some

    def _number(self) -> int:
        (number,) = self._db.execute("SELECT number FROM version").fetchone()
        return int(number)


_Store = TypeVar("_Store", bound=FollowedStore)
_Changes = TypeVar("_Changes", bound=VersionedChanges)


class StoreFollower(Generic[_Store, _Changes]):
    """A store as one process follows it; for any threads.

    Args:
        path: of the file; need not exist yet.
        kind: of the store; who follows it makes none.
        since: reads what has changed since a version, at a Unix time.
        log: gets trouble.
        failing: is told while the store can't be used.
        well: is told when it can be used again.
    """

    def __init__(
        self,
        path: Path,
        kind: type[_Store],
        since: Callable[[_Store, int, float], _Changes],
        *,
        log: logging.Logger,
        failing: str,
        well: str,
    ) -> None:
        self._path = path
        self._kind = kind
        self._since = since
        self._log = log
        self._failing = failing
        self._well = well
        self._store: _Store | None = None
        self._file = (0, 0)
        self._version = READ_WHOLE
        self._trouble = ""
        # a look that was given up may still run when the store is closed
        self._lock = threading.Lock()

    @property
    def stale(self) -> bool:
        """Whether the store can't be read or written now: what was known stays."""
        return bool(self._trouble)

    def changes(self) -> _Changes | None:
        """Return what has changed since the last time.

        None where nothing has, or it can't be read.
        """
        with self._lock:
            try:
                store = self._opened()
                if self._version >= 0:
                    version = store.version()
                    if version == self._version:
                        self._is_well()
                        return None
                    if version < self._version:  # it was put back to what it was before
                        self._version = READ_WHOLE
                changes = self._since(store, self._version, time.time())
            except StoreError as error:
                self._failed(error)
                return None
            self._version = changes.version
            self._is_well()
            return changes

    def write(self, write: Callable[[_Store], None]) -> bool:
        """Write to the store while it is open; return whether it could be."""
        with self._lock:
            if self._store is None:
                return False
            try:
                write(self._store)
            except StoreError as error:
                self._failed(error)
                return False
        return True

    def close(self) -> None:
        """Let the store go."""
        with self._lock:
            self._let_go()

    def _opened(self) -> _Store:
        """Return the store, opened anew where another file has its name."""
        file = file_of(self._path)
        if self._store is not None and file != self._file:
            self._let_go()
        if self._store is None:
            self._store = self._kind(self._path, make=False)
            self._file, self._version = file, READ_WHOLE
        return self._store

    def _let_go(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _is_well(self) -> None:
        if self._trouble:
            event(self._log, logging.WARNING, self._well)
            self._trouble = ""

    def _failed(self, error: StoreError) -> None:
        # what SQLite has in memory of a damaged file may be damaged, too
        if self._store is not None and (
            self._store.forgets or isinstance(error, SqliteFileDamaged)
        ):
            self._let_go()
        if str(error) != self._trouble:
            event(self._log, logging.ERROR, self._failing, error=error)
            self._trouble = str(error)


def file_of(path: Path) -> tuple[int, int]:
    """Return which file has a name: device and inode.

    Raises:
        StoreError: none has, or it can't be looked at.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    return status.st_dev, status.st_ino
