"""Small tables of a log, made for a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from oborona.eventlog.rules.columns import table_schema
from tests.eventlog.random_expressions import LOG, SCHEMA

NOON: Final = datetime(2026, 11, 23, 12)  # noqa: DTZ001 - UTC, as in tables
_TYPES: Final = table_schema(LOG, SCHEMA).to_pyarrow()
SOURCE: Final = ("id", "key", "person", "event", "time", *LOG.columns, "client_high", "client_low")
"""The columns of a row before anything is known of its person."""


def at(seconds: float) -> datetime:
    """Return a time so many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def source(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows with the columns of a log; what a row does not give is null, its id its place."""
    columns = {
        name: [({"id": place} | dict(row)).get(name) for place, row in enumerate(rows)]
        for name in SOURCE
    }
    return pa.table(columns, schema=pa.schema([_TYPES.field(name) for name in SOURCE]))
