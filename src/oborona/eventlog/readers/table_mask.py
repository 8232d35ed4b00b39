"""What a reader sees of a table: the columns that they may read, some as hashes of their own.

Hashes of two readers have nothing in common: tables of one can't be joined with those of another,
nor with ours.
"""

from __future__ import annotations

import hashlib
from typing import Final

import pyarrow as pa

from oborona.eventlog.keys import EventHasher
from oborona.eventlog.readers.declared_reader import LogReader, PersonColumn
from oborona.eventlog.schema import RULES, LogSchema
from oborona.eventlog.tables.arrow_schema import arrow_schema

_OF_PERSONS: Final = ("person", "key")
_PURPOSE: Final = b"log reader"


class TableMask:
    """Turns tables of a log into those of a reader.

    Args:
        reader: who reads them.
        schema: of the log, one of the reader's.
        key: of the site's event logs.
    """

    def __init__(self, reader: LogReader, schema: LogSchema, key: bytes) -> None:
        of_reader = hashlib.blake2b(reader.name.encode(), key=key, person=_PURPOSE).digest()
        self._hasher = EventHasher(of_reader)
        readable = reader.logs[schema.name]
        self._masked = set(readable.masked)
        persons = {} if reader.persons is PersonColumn.NONE else dict.fromkeys(_OF_PERSONS)
        if reader.persons is PersonColumn.OWN:
            self._masked |= set(_OF_PERSONS)
        names = ["id", "time", "event", *persons, *readable.columns]
        self.schema = pa.schema(
            [
                *(
                    pa.field(name, pa.int64())
                    if name in self._masked
                    else arrow_schema(schema).field(name)
                    for name in names
                ),
                pa.field(RULES, pa.list_(pa.string()), nullable=False),
            ]
        )

    def masked(self, rows: pa.Table) -> pa.Table:
        """Return what the reader sees of rows.

        Args:
            rows: of a checked table of the log.
        """
        columns = [
            self._hashed(rows.column(name)) if name in self._masked else rows.column(name)
            for name in self.schema.names
        ]
        return pa.table(columns, names=self.schema.names).cast(self.schema)

    def _hashed(self, column: pa.ChunkedArray) -> pa.Array:
        """Return a keyed hash of each value; of none, none."""
        packed = column.combine_chunks().dictionary_encode()
        if isinstance(packed, pa.ChunkedArray):
            packed = packed.combine_chunks()
        values = packed.dictionary.to_pylist()
        hashes = [None if value is None else self._hasher.text(repr(value)) for value in values]
        return pa.array(hashes, pa.int64()).take(packed.indices)
