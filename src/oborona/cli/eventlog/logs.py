"""The event logs of a site, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oborona.cli.context import CliContext
from oborona.errors import ConfigError

if TYPE_CHECKING:
    from oborona.eventlog.schema import LogSchema


def schema_of(context: CliContext, log: str) -> LogSchema:
    """Return the schema of a log.

    Raises:
        ConfigError: there is none of the name.
    """
    from oborona.eventlog.logs import schemas  # noqa: PLC0415 - the engine takes a second to load

    known = schemas(context.loaded.settings)
    for schema in known:
        if schema.name == log:
            return schema
    names = ", ".join(schema.name for schema in known)
    raise ConfigError(f"there is no event log {log[:60]!r}; there are {names}")
