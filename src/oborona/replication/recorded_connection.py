"""A connection that remembers what is written through it, while somebody asks it to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from oborona.replication.statement import RecordedStatement, is_bound

_CHANGES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class RecordedConnection(sqlite3.Connection):
    """A connection to a common store.

    It writes only while it records: what went past the log would be on one machine alone.

    Attributes:
        record: what was written, in order; None = nothing may be.
    """

    record: list[RecordedStatement] | None = None

    def begin_record(self) -> list[RecordedStatement]:
        """Remember from now on what is written; return the list of it."""
        super().execute("PRAGMA query_only = OFF")
        self.record = []
        return self.record

    def end_record(self) -> None:
        """Let nothing be written any more."""
        self.record = None
        super().execute("PRAGMA query_only = ON")

    def run(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Run a statement that is no part of a change: what bounds it, and what others did."""
        return super().execute(sql, parameters)

    def run_many(self, sql: str, parameters: Iterable[Any]) -> sqlite3.Cursor:
        """Run one so for each of some values."""
        return super().executemany(sql, parameters)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement; see `sqlite3.Connection.execute`."""
        if self.record is None:
            return super().execute(sql, parameters)
        before = self.total_changes
        cursor = super().execute(sql, parameters)
        # of what RETURNs rows it is known when all are fetched
        if is_bound(sql) or self.total_changes != before or _returns(cursor, sql):
            self.record.append(RecordedStatement(sql, [_values(parameters)]))
        return cursor

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Run a statement for each of some values; see `sqlite3.Connection.executemany`."""
        if self.record is None:
            return super().executemany(sql, parameters)
        every, before = list(parameters), self.total_changes
        cursor = super().executemany(sql, every)
        if self.total_changes != before:
            self.record.append(RecordedStatement(sql, [_values(values) for values in every]))
        return cursor


def _returns(cursor: sqlite3.Cursor, sql: str) -> bool:
    """Whether a statement changes rows and returns them."""
    return cursor.description is not None and sql.lstrip()[:8].upper().startswith(_CHANGES)


def _values(parameters: Any) -> Any:
    return dict(parameters) if isinstance(parameters, dict) else list(parameters)
