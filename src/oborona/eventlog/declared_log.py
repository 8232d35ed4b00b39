"""Logs that others write, each declared in a file of its own: `clicks.toml` declares `clicks`.

folder = "/srv/clicks"         # where files are dropped; without it events come by HTTP alone
id = "click"                   # which columns say what; of those without an id the place in
time = "at"                    #     its file is one
event = "action"
person = ["user"]              # together they are one person; tables hold its keyed hash
info = ["page"]                # what tells an event from another of the same person
events = ["click", "show"]     # all kinds of events: for rules that count them by kind

[columns]                      # each that is to be taken, and its kind
click = "text"
at = "time"                    # Unix seconds, or ISO 8601
action = "text"
user = "text"
page = "text"
address = "hashed"             # the table holds its keyed hash

[thresholds]                   # events of a person in a day beyond which he is abnormal
click = 1000
others = 300

[fraud]                        # from when on a person is caught on a day: of his rows are marked
share = 0.5                    # so large a share, and
least = 5                      # so many; or
many = 300                     # so many, whatever their share
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.eventlog.declaration import declaration_files, read_declaration
from oborona.eventlog.schema import (
    DEFAULT_THRESHOLD,
    NAME,
    STORED_KINDS,
    FraudLine,
    LogColumn,
    LogSchema,
)
from oborona.policy.event_columns import ColumnKind
from oborona.toml import did_you_mean

OTHERS: Final = "others"
MOST_EVENTS: Final = 200  # kinds of events of one log: each may become a column of counts
LONGEST_EVENT: Final = 64  # characters of one
_EVENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")
_KINDS: Final = ", ".join(STORED_KINDS)


class LogDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of a log says."""

    folder: Annotated[
        str, Meta(pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z", extra={"allowed": "an absolute path"})
    ] = ""
    time: str
    event: str
    id: str = ""
    person: Annotated[tuple[str, ...], Meta(extra={"allowed": "a list of columns"})] = ()
    info: Annotated[tuple[str, ...], Meta(extra={"allowed": "a list of columns"})] = ()
    events: Annotated[
        tuple[str, ...],
        Meta(
            max_length=MOST_EVENTS,
            extra={"allowed": f"a list of at most {MOST_EVENTS} kinds of events"},
        ),
    ] = ()
    columns: Annotated[
        dict[str, ColumnKind], Meta(extra={"allowed": f"a table of columns, each one of {_KINDS}"})
    ]
    thresholds: Annotated[
        dict[str, Annotated[float, Meta(gt=0)]],
        Meta(extra={"allowed": "a table of numbers above 0"}),
    ] = {}
    fraud: Annotated[
        dict[Literal["share", "least", "many"], Annotated[float, Meta(gt=0)]],
        Meta(extra={"allowed": "a table of share, least and many, numbers above 0"}),
    ] = {}


class DeclaredLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log that others write."""

    schema: LogSchema
    folder: Path | None  # where its files are dropped; None: events come by HTTP alone
    source: Mapping[str, ColumnKind]  # columns of its files
    id: str  # which of them is what; empty = the place in the file
    time: str
    event: str
    person: tuple[str, ...]
    info: tuple[str, ...] | None  # None: no event is another one told twice


def read_logs(folder: Path, taken: frozenset[str]) -> tuple[DeclaredLog, ...]:
    """Return the logs that the files of a folder declare, by name; none where it is not there.

    Args:
        folder: of the declarations.
        taken: names of logs of our own.

    Raises:
        ConfigError: a file can't be read, or says something that is not right.
    """
    return tuple(_read_log(path, taken) for path in declaration_files(folder, "logs"))


def _read_log(path: Path, taken: frozenset[str]) -> DeclaredLog:
    name = path.stem
    return _log(
        name, read_declaration(path, LogDeclaration, lambda log: _problem(name, log, taken))
    )


def _problem(name: str, log: LogDeclaration, taken: frozenset[str]) -> tuple[str, str] | None:
    """Return which key is wrong, and how."""
    if not NAME.fullmatch(name):
        return "", f"{name!r} is no name of a log: small letters, digits and _"
    if name in taken:
        return "", f"{name!r} is a log of our own; give the file another name"
    named = [("time", log.time), ("event", log.event), *(("id", log.id),) * bool(log.id)]
    named += [("person", column) for column in log.person] + [
        ("info", column) for column in log.info
    ]
    for key, column in named:
        if column not in log.columns:
            return key, f"{key} names {column!r}, which is none of [columns]"
    for column, kind in log.columns.items():
        if kind not in STORED_KINDS:
            return "columns", f"columns: {column!r} is {kind}; a file has {_KINDS}"
    problem = _problem_of_events(log)
    if problem:
        return problem
    wanted = {
        "time": (log.time, {ColumnKind.TIME}),
        "event": (log.event, {ColumnKind.TEXT}),
        "id": (log.id, {ColumnKind.TEXT, ColumnKind.INTEGER}),
    }
    for key, (column, kinds) in wanted.items():
        if column and log.columns[column] not in kinds:
            return key, f"{key}: {column!r} must be {' or '.join(sorted(kinds))} in [columns]"
    parts = [log.time, log.event, *((log.id,) if log.id else ()), *log.person]
    if len(set(parts)) < len(parts):
        return "person", "id, time, event and person must be different columns"
    return None


def _problem_of_events(log: LogDeclaration) -> tuple[str, str] | None:
    for event in log.events:
        if len(event) > LONGEST_EVENT or not _EVENT.fullmatch(event):
            return "events", (
                f"events: {event[:80]!r} is no kind of event; write letters, digits and . _ : / -,"
                f" at most {LONGEST_EVENT}"
            )
    if len(set(log.events)) < len(log.events):
        return "events", "events: each once"
    strangers = log.thresholds.keys() - {*log.events, OTHERS}
    if log.events and strangers:
        hint = did_you_mean(min(strangers), log.events)
        return "thresholds", f"thresholds: {min(strangers)!r} is none of events{hint}"
    return None


def _log(name: str, log: LogDeclaration) -> DeclaredLog:
    parts = {log.id, log.time, log.event, *log.person}
    thresholds = dict(log.thresholds)
    return DeclaredLog(
        schema=LogSchema(
            name=name,
            columns=tuple(
                LogColumn(column, kind)
                for column, kind in log.columns.items()
                if column not in parts
            ),
            events=log.events,
            id_kind=log.columns[log.id] if log.id else ColumnKind.TEXT,
            threshold=thresholds.pop(OTHERS, DEFAULT_THRESHOLD),
            thresholds=thresholds,
            fraud=FraudLine(**log.fraud),
        ),
        folder=Path(log.folder) if log.folder else None,
        source=log.columns,
        id=log.id,
        time=log.time,
        event=log.event,
        person=log.person,
        info=log.info,
    )
