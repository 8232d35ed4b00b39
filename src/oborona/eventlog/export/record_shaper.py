"""Records of a declared log to rows of its tables: kinds, times, keyed hashes.

The HTTP door asks whether a record can be a row; that needs no package of event logs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from oborona.eventlog.declared_log import DeclaredLog
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import parse_time
from oborona.policy.event_columns import ColumnKind

MOST_OCTETS: Final = 1 << 20  # of a record in its file
MOST_TEXT: Final = 65_536  # characters of a value; a longer one is no field of an event
_LONGEST: Final = 1 << 63
_FLAGS: Final = MappingProxyType({"true": True, "1": True, "false": False, "0": False})


Record = Mapping[str, Any]


class BrokenRecord(ValueError):  # noqa: N818 - reads as what happened
    """A record that can't be a row; the text says why."""


class RecordShaper:
    """Turns the records of one file into rows.

    Args:
        log: whose records they are.
        hasher: of persons, events and texts.
        table: name of the table that they make.
    """

    def __init__(self, log: DeclaredLog, hasher: EventHasher, table: str) -> None:
        self._log = log
        self._hasher = hasher
        self._table = table
        self._columns = tuple(column.name for column in log.schema.columns)

    def row(self, number: int, record: Record | str) -> EventRow:
        """Return the row of a record.

        Args:
            number: of the record in its file, from 0 on.
            record: what the file says, or why it can't be read.

        Raises:
            BrokenRecord: it can't be read; a value is of another kind than declared, or too long;
                there is no id, or no name of an event.
        """
        if isinstance(record, str):
            raise BrokenRecord(record)
        log = self._log
        values = record_values(log, record)
        for name, kind in log.source.items():
            if kind is ColumnKind.HASHED and values[name] is not None:
                values[name] = self._hasher.text(values[name])
        ident = values[log.id] if log.id else f"{self._table}:{number}"
        event = values[log.event]
        parts = [values[name] for name in log.person]
        told = any(part is not None and part != "" for part in parts)
        person = self._hasher.person("\0".join(map(str, parts))) if told else None
        key = None
        if person is not None and log.info is not None:
            key = self._hasher.event(event, person, (values[name] for name in log.info))
        return (ident, values[log.time], event, person, key, *map(values.get, self._columns))


def record_values(log: DeclaredLog, record: Record) -> dict[str, Any]:
    """Return the values of a record by column: times in microseconds, texts to be hashed as they
    are.

    Raises:
        BrokenRecord: a value is of another kind than declared, or too long; there is no id, or no
            name of an event.
    """
    values = {name: _value(name, kind, record.get(name)) for name, kind in log.source.items()}
    for column in (log.id, log.event):
        if column and values[column] in (None, ""):
            raise BrokenRecord(f"{column} is empty")
    return values


def _value(name: str, kind: ColumnKind, given: object) -> Any:
    if given is None:
        return None
    if isinstance(given, str) and len(given) > MOST_TEXT:
        raise BrokenRecord(f"{name} has {len(given)} characters; {MOST_TEXT} are the most")
    if kind is ColumnKind.TIME:
        return parse_time(given)  # None of what is no time: such rows are kept
    value = _READERS[kind](given)
    if value is None and not _is_nan(given):
        raise BrokenRecord(f"{name} = {str(given)[:80]!r} is no {kind.value}")
    return value


def _is_nan(given: object) -> bool:
    return isinstance(given, float) and not math.isfinite(given)


def _integer(given: object) -> int | None:
    if isinstance(given, bool):
        return None
    if isinstance(given, str):
        try:
            given = int(given[:32])
        except ValueError:
            return None
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return given if isinstance(given, int) and -_LONGEST <= given < _LONGEST else None


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _text(given: object) -> str | None:
    if isinstance(given, bool):
        return None
    if isinstance(given, int):
        return str(given) if -_LONGEST <= given < _LONGEST else None
    if isinstance(given, str):
        return given.encode("utf-8", "backslashreplace").decode()
    return None


def _flag(given: object) -> bool | None:
    if isinstance(given, bool):
        return given
    return _FLAGS.get(str(given)[:8].strip().lower()) if isinstance(given, int | str) else None


_READERS: Final[Mapping[ColumnKind, Callable[[object], Any]]] = MappingProxyType(
    {
        ColumnKind.INTEGER: _integer,
        ColumnKind.NUMBER: _number,
        ColumnKind.TEXT: _text,
        ColumnKind.FLAG: _flag,
        ColumnKind.HASHED: _text,
    }
)
