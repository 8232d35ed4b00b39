"""A log in one table of a file of our state: rows with a number that only rises, each with a time.

What a file tells anew of a row is not told again: a row is exported as it is some seconds after its
slot is over.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from oborona.eventlog.export.own_log import OwnLog
from oborona.eventlog.schema import EventRow
from oborona.sqlite_file import SqliteFileKind, checked_version, closed_on_error, connect
from oborona.store_birth import stored_birth


class StateLog(OwnLog):
    """Follows a table of our state."""

    kind: ClassVar[SqliteFileKind]
    last: ClassVar[str]
    """Which row was the last before a time: a statement with one value."""
    rows: ClassVar[str]
    """What there is of the rows behind a number, up to another and with it."""

    def _open(self) -> sqlite3.Connection:
        db = connect(self._path, write=False)
        with closed_on_error(db, self._path):
            checked_version(db, self._path, self.kind.format)
        return db

    def _origin(self, db: sqlite3.Connection) -> str:
        birth = stored_birth(db)
        return "" if birth is None else birth.mark

    def _last_place(self, db: sqlite3.Connection, after: int, before: float) -> int:
        found = db.execute(self.last, (before,)).fetchone()
        return after if found is None else max(after, int(found[0]))

    def _rows(self, db: sqlite3.Connection, after: int, last: int) -> Iterable[EventRow]:
        for row in db.execute(self.rows, (after, last)):
            yield self._event(*row)

    @abstractmethod
    def _event(self, *values: Any) -> EventRow:
        """Return the event that a row of `rows` is."""
