"""Where the facts of event rules stand in a table: one column each, by these names.

The columns of the log have their own names.  What is known of a row and its person (`facts`) has
the name of the fact with underscores: `person_day_click`, `person_gap`, `duplicate`.  `time.now` is
read from the column `time`.  An address has two columns more, `NAME_high` and `NAME_low`: no two
engines have a type for addresses in common (`networks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from oborona.config.eventlog import TableEngine
from oborona.policy.event_columns import ColumnKind
from oborona.policy.expression.schema import FactSchema, PieceKind

EVENT: Final = "event"  # what kind of event a row is
PERSON: Final = "person"  # a key of the person; rules don't see it
ROW: Final = "id"  # of a row, rising; rules don't see it
KEY: Final = "key"  # equal for events that are the same; rules don't see it
RULES: Final = "rules"  # of a checked row: the names of the rules that fire
TIME: Final = "time"  # when the event happened, UTC
EARLIEST: Final = 0  # seconds since 1970: a time before it is none
LATEST: Final = 4_102_444_800  # the year 2100: a time from it on is none
SECOND: Final = 1_000_000  # microseconds


EngineFunction = Callable[[ir.Value], ir.Value]
"""A function of one argument that engines have."""


class LogColumns(Protocol):
    """The columns of a log that rules may name, and its kinds of events: a `RuledLog`, or alike."""

    @property
    def columns(self) -> Mapping[str, ColumnKind]:
        """Its columns, beside those that every log has."""
        ...

    @property
    def events(self) -> Sequence[str]:
        """All kinds of events."""
        ...


_TYPES: Final[Mapping[ColumnKind, dt.DataType]] = {
    ColumnKind.TEXT: dt.string,
    ColumnKind.INTEGER: dt.int64,
    ColumnKind.NUMBER: dt.float64,
    ColumnKind.TIME: dt.Timestamp(),
    ColumnKind.FLAG: dt.boolean,
    ColumnKind.SET: dt.Array(dt.string),
    ColumnKind.ADDRESS: dt.string,
    ColumnKind.HASHED: dt.int64,
}


def engine_function(name: str, takes: dt.DataType, gives: dt.DataType) -> EngineFunction:
    """Return a function of engines that Ibis does not know.

    Args:
        name: as statements write it.
        takes: type of its argument.
        gives: type of its result.
    """

    def call(value: object) -> None:
        """Stand for it: the engine has it."""

    call.__name__ = name
    function: EngineFunction = ibis.udf.scalar.builtin(call, name=name, signature=((takes,), gives))
    return function


_MICROS: Final[Mapping[TableEngine, EngineFunction]] = {
    TableEngine.DUCKDB: engine_function("epoch_us", dt.timestamp, dt.int64),
    TableEngine.PYSPARK: engine_function("unix_micros", dt.Timestamp("UTC"), dt.int64),
}


_TIMES: Final[Mapping[TableEngine, dt.DataType]] = {
    TableEngine.DUCKDB: dt.Timestamp(),
    TableEngine.PYSPARK: dt.Timestamp("UTC"),  # without a zone it is a type of its own there
}


def column_of(label: str) -> str:
    """Return the column of a fact.

    Args:
        label: the fact as rules write it: `agent`, `time.now`, `person.day[click]`.
    """
    if label == "time.now":
        return TIME
    name, bracket, member = label.partition("[")
    return name.replace(".", "_") + (f"_{member[:-1]}" if bracket else "")


def high_of(column: str) -> str:
    """Return the column of the upper half of an address."""
    return f"{column}_high"


def low_of(column: str) -> str:
    """Return the column of the lower half of an address."""
    return f"{column}_low"


def table_schema(log: LogColumns, facts: FactSchema) -> ibis.Schema:
    """Return all columns that a table of a log may have for its rules, with their types.

    Args:
        log: the log.
        facts: what its rules may name.
    """
    columns: dict[str, dt.DataType] = {
        ROW: dt.int64,
        KEY: dt.int64,
        PERSON: dt.int64,
        EVENT: dt.string,
        TIME: dt.Timestamp(),
    }
    for name, kind in log.columns.items():
        columns[name] = _TYPES[kind]
        if kind == ColumnKind.ADDRESS:
            columns |= {high_of(name): dt.int64, low_of(name): dt.int64}
    for fact in facts.facts:
        columns.setdefault(column_of(fact.name), dt.boolean if fact.type is bool else dt.float64)
    for family in facts.families:
        for member in family.members:
            columns[column_of(f"{family.name}[{member}]")] = dt.float64
    return ibis.schema(columns)


def micros(time: ir.Value, engine: TableEngine) -> ir.Value:
    """Return a time as microseconds since 1970, none outside the years 1970 to 2099.

    Args:
        time: UTC.
        engine: for which the statement is.
    """
    return ibis.ifelse(inside(time, engine), whole_micros(time, engine), ibis.null("int64"))


def inside(time: ir.Value, engine: TableEngine) -> ir.BooleanValue:
    """Return whether a time is of the years 1970 to 2099; NULL for none."""
    whole = whole_micros(time, engine)
    return (whole >= EARLIEST * SECOND) & (whole < LATEST * SECOND)


def whole_micros(time: ir.Value, engine: TableEngine) -> ir.IntegerValue:
    """Return a time of any year as microseconds since 1970."""
    return _MICROS[engine](time.cast(_TIMES[engine]))


def seconds(time: ir.Value, engine: TableEngine) -> ir.Value:
    """Return a time as seconds since 1970, as `micros` otherwise.

    Microseconds are divided as those of one row are: both give the same double.
    """
    return micros(time, engine).cast("float64") / float(SECOND)


def read_column(
    table: ir.Table,
    column: str,
    kind: PieceKind,
    *,
    optional: bool,
    time: bool,
    engine: TableEngine,
) -> ir.Value:
    """Return what a rule sees of a column.

    Args:
        table: has the column.
        column: its name.
        kind: what rules take it for.
        optional: it may be none; else what is not known is 0, false, an empty text or set.
        time: it holds times.
        engine: for which the statement is.
    """
    value: ir.Value = table[column]
    match kind:
        case PieceKind.NUMBER:
            value = seconds(value, engine) if time else value.cast("float64")
            return value if optional else ibis.coalesce(value, 0.0)
        case PieceKind.CONDITION:
            return value if optional else ibis.coalesce(value, False)
        case PieceKind.SET:
            return ibis.coalesce(value, ibis.literal([], type="array<string>"))
        case _:
            return value if optional else ibis.coalesce(value, "")
