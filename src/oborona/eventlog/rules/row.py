"""The rules of a log over one row, by the compiled function of the mail rules' language.

It is the definition of what a rule means: what engines of tables calculate is held to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from oborona.eventlog.rules.columns import EARLIEST, LATEST, SECOND, LogColumns, column_of
from oborona.policy.event_columns import ColumnKind
from oborona.policy.event_rules import LogRules
from oborona.policy.expression.schema import FactSchema, PieceKind
from oborona.types import RuleHit, Stage

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class RowFacts:
    """The facts of one row, for the compiled function.

    Args:
        row: values by the names of columns; what is missing is none.
        readers: how each fact is read, by its attribute.
    """

    def __init__(
        self, row: Mapping[str, Any], readers: Mapping[str, Callable[[Mapping[str, Any]], Any]]
    ) -> None:
        self._row = row
        self._readers = readers

    def __getattr__(self, name: str) -> Any:
        """Read a fact, or the mapping of a family."""
        try:
            read = self._readers[name]
        except KeyError:
            raise AttributeError(name) from None
        return read(self._row)


class FamilyOfRow(Mapping[str, Any]):
    """A family of facts of one row, by its members."""

    def __init__(
        self, readers: Mapping[str, Callable[[Mapping[str, Any]], Any]], row: Mapping[str, Any]
    ) -> None:
        self._readers = readers
        self._row = row

    def __getitem__(self, member: str) -> Any:
        return self._readers[member](self._row)

    def __iter__(self) -> Any:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)


class RowRules:
    """The rules of a log as a function of one row.

    Args:
        rules: as a policy has them.
        log: their log.
    """

    def __init__(self, rules: LogRules, log: LogColumns) -> None:
        self._compiled = rules.compiled
        self._readers = readers(log, rules.schema)

    def fired(self, row: Mapping[str, Any]) -> tuple[list[RuleHit], list[str]]:
        """Return the rules that fire on a row, and which failed.

        Args:
            row: values by the names of columns, as of `columns.table_schema`.
        """
        return self._compiled.run(RowFacts(row, self._readers), Stage.CONNECT)


def readers(
    log: LogColumns, schema: FactSchema
) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
    """Return how each fact and family of a log is read from a row, by its attribute."""
    found: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    for fact in schema.facts:
        timed = fact.name == "time.now" or log.columns.get(fact.name) == ColumnKind.TIME
        found[fact.attribute] = _reader(
            column_of(fact.name), fact.kind, optional=fact.optional, time=timed
        )
    for family in schema.families:
        of = {
            member: _reader(
                column_of(f"{family.name}[{member}]"),
                family.kind,
                optional=family.optional,
                time=False,
            )
            for member in family.members
        }
        found[family.attribute] = partial(FamilyOfRow, of)
    return found


def _reader(
    column: str, kind: PieceKind, *, optional: bool, time: bool
) -> Callable[[Mapping[str, Any]], Any]:
    """Return how a column is read, as `columns.read_column` has it for tables."""
    if kind is PieceKind.SET:
        return lambda row: frozenset(one for one in row.get(column) or () if one is not None)
    if time:
        return lambda row: seconds(row.get(column))
    empty: Any = {PieceKind.NUMBER: 0.0, PieceKind.CONDITION: False}.get(kind, "")
    nothing = None if optional else empty
    if kind is PieceKind.NUMBER:
        return lambda row: nothing if (value := row.get(column)) is None else float(value)
    return lambda row: nothing if (value := row.get(column)) is None else value


def seconds(time: datetime | None) -> float | None:
    """Return a time as seconds since 1970; none outside the years 1970 to 2099.

    Args:
        time: UTC where it names no zone.
    """
    if time is None:
        return None
    whole = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    micros = whole // _MICROSECOND
    return micros / SECOND if EARLIEST * SECOND <= micros < LATEST * SECOND else None
