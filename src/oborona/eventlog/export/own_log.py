"""A log of our own, as a store of ours holds it: events with a number that only rises.

What comes into a store later has a higher place, whatever time it tells of: a log is followed by
place, and cut at the ends of slots by the time at which events were written down.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from oborona.errors import StoreError
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.schema import EventRow, LogSchema
from oborona.sqlite_file import ERRORS, explained_error

if TYPE_CHECKING:
    import pyarrow as pa


class OwnLog(ABC):
    """A log that is followed in a store of ours.

    Args:
        path: of the store; it may not be there yet.
        hasher: of persons and events.
    """

    schema: ClassVar[LogSchema]
    person_prefix: ClassVar[str] = ""
    """What stands before a person's name, so that persons of two logs are two: `account `."""

    def __init__(self, path: Path, hasher: EventHasher) -> None:
        self._path = path
        self._hasher = hasher

    @classmethod
    def person_names(cls, name: str) -> tuple[str, ...]:
        """Return what the log may call a person whom people call so: an address, a login."""
        return (f"{cls.person_prefix}{name}",)

    def _person(self, name: str) -> int | None:
        """Return the hash of a person whom people call so; None of nobody."""
        return self._hasher.person(f"{self.person_prefix}{name}") if name else None

    def origin(self) -> str:
        """Return what tells the store from another that counts its places anew; empty = it can't,
        or there is none.

        Raises:
            StoreError: the store can't be read.
        """
        with self._opened() as db:
            return "" if db is None else self._origin(db)

    def last_place(self, after: int, before: float) -> int:
        """Return the place of the last event that was written down before a time.

        Args:
            after: a place; the answer is never before it.
            before: Unix seconds. Events before the place may have been written down later: they
                come early, and none is left behind.

        Raises:
            StoreError: the store can't be read.
        """
        with self._opened() as db:
            return after if db is None else self._last_place(db, after, before)

    def table(self, after: int, last: int) -> pa.Table:
        """Return the events behind a place, up to another and with it.

        Raises:
            StoreError: the store can't be read.
        """
        with self._opened() as db:
            rows = [] if db is None or last <= after else list(self._rows(db, after, last))
            return event_table(rows, self.schema)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection | None]:
        """Give the store, read-only; None where there is none yet."""
        if not self._path.exists():
            yield None
            return
        with closing(self._open()) as db:
            try:
                yield db
            except ERRORS as error:
                raise explained_error(error, self._path) from error
            except (ValueError, TypeError) as error:
                raise StoreError(f"{self._path}: a row is damaged ({error})") from error

    @abstractmethod
    def _open(self) -> sqlite3.Connection: ...

    @abstractmethod
    def _origin(self, db: sqlite3.Connection) -> str: ...

    @abstractmethod
    def _last_place(self, db: sqlite3.Connection, after: int, before: float) -> int: ...

    @abstractmethod
    def _rows(self, db: sqlite3.Connection, after: int, last: int) -> Iterable[EventRow]: ...


def event_table(rows: Sequence[EventRow], schema: LogSchema) -> pa.Table:
    """Return a table of rows.

    Raises:
        ValueError, TypeError: a value is not what its column holds.
    """
    # 50 MiB that nobody needs who asks what logs there are
    import pyarrow as pa  # noqa: PLC0415

    from oborona.eventlog.tables.arrow_schema import arrow_schema  # noqa: PLC0415

    shape = arrow_schema(schema)
    columns = zip(*rows, strict=True) if rows else ((),) * len(shape)
    return pa.table(list(map(list, columns)), schema=shape)


def plain_text(text: str) -> str:
    """Return a text as tables take it: a lone surrogate as Python writes it, cut after 1000
    characters.
    """
    return text[:1000].encode("utf-8", "backslashreplace").decode()
