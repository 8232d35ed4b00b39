"""Logs of events as rules see them, and our own as tables have them: one declaration for both."""

from __future__ import annotations

from typing import Any

from oborona.eventlog.schema import LogColumn, LogSchema
from oborona.policy.event_logs import RuledLog, ruled_log


def as_ruled(schema: LogSchema) -> RuledLog:
    """Return a log as rules over its rows see it."""
    columns = {column.name: column.kind for column in schema.columns}
    return ruled_log(schema.name, columns, schema.events)


def own_schema(log: RuledLog, **more: Any) -> LogSchema:
    """Return the shape of the tables of a log of our own.

    Args:
        log: as rules see it.
        more: what the schema has beside its name, columns and events.
    """
    return LogSchema(
        name=log.name.lower(),
        columns=tuple(LogColumn(name, kind) for name, kind in log.columns.items()),
        events=log.events,
        **more,
    )
