"""The shape of a log's tables as Arrow has it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from oborona.eventlog.schema import LogSchema
from oborona.policy.event_columns import ColumnKind

MOMENT: Final = pa.timestamp("us", "UTC")
ARROW_TYPES: Final[Mapping[ColumnKind, pa.DataType]] = MappingProxyType(
    {
        ColumnKind.INTEGER: pa.int64(),
        ColumnKind.NUMBER: pa.float64(),
        ColumnKind.TEXT: pa.string(),
        ColumnKind.FLAG: pa.bool_(),
        ColumnKind.TIME: MOMENT,
        ColumnKind.HASHED: pa.int64(),
    }
)


def arrow_schema(log: LogSchema) -> pa.Schema:
    """Return the columns of a table of a log that is not checked yet."""
    return pa.schema(
        [
            pa.field("id", ARROW_TYPES[log.id_kind], nullable=False),
            pa.field("time", MOMENT),
            pa.field("event", pa.string(), nullable=False),
            pa.field("person", pa.int64()),
            pa.field("key", pa.int64()),
            *(pa.field(column.name, ARROW_TYPES[column.kind]) for column in log.columns),
        ]
    )
