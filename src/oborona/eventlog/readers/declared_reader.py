"""Readers of event logs, each declared in a file of its own: `analysts.toml` declares `analysts`.

folder = "/srv/analysts"       # where their tables are laid; whoever may read it reads them
tables = ["5min", "1d"]        # which kinds: 5min, 30min, 1d
persons = "own"                # own: a hash that no other reader has; same: as our tables have it;
                               # none: no column says whose a row is

[logs]                         # each that they may read, and which columns beside the standard ones
clicks = ["page", "address"]

[masked]                       # of which they get a hash of their own
clicks = ["address"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.eventlog.declaration import declaration_files, read_declaration
from oborona.eventlog.schema import NAME, LogSchema

_OF_COLUMNS: Final = "a table of logs, each with a list of columns"


class TableKind(StrEnum):
    """A kind of checked tables."""

    STREAM = "5min"
    HALF_HOURS = "30min"
    DAYS = "1d"


class PersonColumn(StrEnum):
    """What a reader sees of persons."""

    OWN = "own"
    SAME = "same"
    NONE = "none"


class ReaderDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of a reader says."""

    folder: Annotated[
        str, Meta(pattern=r"\A/[^\x00-\x1f\x7f]+\Z", extra={"allowed": "an absolute path"})
    ]
    tables: Annotated[
        tuple[TableKind, ...], Meta(extra={"allowed": "a list of 5min, 30min and 1d"})
    ] = (TableKind.STREAM, TableKind.DAYS)
    persons: PersonColumn = PersonColumn.OWN
    logs: Annotated[dict[str, tuple[str, ...]], Meta(extra={"allowed": _OF_COLUMNS})]
    masked: Annotated[dict[str, tuple[str, ...]], Meta(extra={"allowed": _OF_COLUMNS})] = {}


class ReadableLog(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader may read of a log."""

    columns: tuple[str, ...]  # beside the standard ones
    masked: frozenset[str]  # of those


class LogReader(msgspec.Struct, frozen=True, kw_only=True):
    """Who reads tables."""

    name: str
    folder: Path
    tables: tuple[TableKind, ...]
    persons: PersonColumn
    logs: Mapping[str, ReadableLog]


def read_readers(folder: Path, schemas: Sequence[LogSchema]) -> tuple[LogReader, ...]:
    """Return the readers that the files of a folder declare, by name; none where it is not there.

    Args:
        folder: of the declarations.
        schemas: of all logs.

    Raises:
        ConfigError: a file can't be read, or says something that is not right.
    """
    known = {schema.name: schema for schema in schemas}
    return tuple(_read_reader(path, known) for path in declaration_files(folder, "readers"))


def _read_reader(path: Path, schemas: Mapping[str, LogSchema]) -> LogReader:
    name = path.stem
    declared = read_declaration(
        path, ReaderDeclaration, lambda reader: _problem(name, reader, schemas)
    )
    return LogReader(
        name=name,
        folder=Path(declared.folder),
        tables=tuple(dict.fromkeys(declared.tables)),
        persons=declared.persons,
        logs={
            log: ReadableLog(columns=columns, masked=frozenset(declared.masked.get(log, ())))
            for log, columns in declared.logs.items()
        },
    )


def _problem(
    name: str, reader: ReaderDeclaration, schemas: Mapping[str, LogSchema]
) -> tuple[str, str] | None:
    """Return which key is wrong, and how."""
    if not NAME.fullmatch(name):
        return "", f"{name!r} is no name of a reader: small letters, digits and _"
    for log, columns in reader.logs.items():
        if log not in schemas:
            return "logs", f"there is no event log {log[:60]!r}; there are {', '.join(schemas)}"
        known = [column.name for column in schemas[log].columns]
        for column in columns:
            if column not in known:
                return "logs", (
                    f"{log} has no column {column[:60]!r} of its own; it has {', '.join(known)}"
                )
    for log, columns in reader.masked.items():
        for column in columns:
            if column not in reader.logs.get(log, ()):
                return "masked", f"{column[:60]!r} of {log[:60]} is masked and not among [logs]"
    return None
