"""Records to one table: rows that can be used, and why the others can't."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
import pyarrow as pa

from oborona.eventlog.export.own_log import event_table
from oborona.eventlog.export.record_shaper import BrokenRecord, Record, RecordShaper
from oborona.eventlog.schema import EventRow, LogSchema

AT_ONCE: Final = 20_000  # rows as Python has them, ten times as large as in a table


class RowGatherer:
    """The rows of a table that is being made.

    Args:
        schema: of its log.
    """

    def __init__(self, schema: LogSchema) -> None:
        self._schema = schema
        self._parts = [event_table([], schema)]
        self._rows: list[EventRow] = []
        self.broken: list[bytes] = []
        """Why records can't be used, as JSON lines."""

    def take(self, shaper: RecordShaper, records: Iterable[Record | str]) -> None:
        """Take the records of a file; arguments as of `RecordShaper.row`.

        Raises:
            UnreadableFile: the file can't be read.
        """
        for number, record in enumerate(records):
            try:
                self._rows.append(shaper.row(number, record))
            except BrokenRecord as error:
                self.broken.append(
                    msgspec.json.encode({"record": number, "why": shown_text(str(error))}) + b"\n"
                )
            if len(self._rows) == AT_ONCE:
                self._pack()

    def table(self) -> pa.Table:
        """Return all rows that can be used, in their order."""
        self._pack()
        return pa.concat_tables(self._parts)

    def _pack(self) -> None:
        self._parts.append(event_table(self._rows, self._schema))
        self._rows.clear()


def shown_text(text: str) -> str:
    """Return a text of others as SQLite and JSON take it."""
    return text.encode("utf-8", "backslashreplace").decode()
