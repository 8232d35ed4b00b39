"""The `[[event_log]]` tables of policy files: which columns a log of events has, and which kinds of
events; and what rules over its rows may name.

[[event_log]]
name    = "CLICKS"
columns = { agent = "text", price = "number", shown = "time", tags = "set", client = "address" }
events  = ["click", "show"]

Each row is one event of one person.  Beside its own columns a rule may name what the rows before it
say of the person (`oborona.policy.person_facts`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.expression import Fact, FactSchema, FactType
from oborona.policy.expression.schema import TableDialect
from oborona.policy.named_tables import Fields, Name, TableSort, Why, refuse
from oborona.policy.person_facts import PERSON_FACTS, person_families
from oborona.types import Stage

MAX_LOGS: Final = 50
MAX_COLUMNS: Final = 200
MAX_EVENTS: Final = 200  # kinds of events of one log: each may become a column of counts
MAX_EVENT: Final = 64  # characters of one
_COLUMN: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_EVENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")
# columns of every log that have a meaning of their own
KEPT_COLUMNS: Final = frozenset({"id", "key", "person", "event", "time", "rules"})


class EventColumnKind(StrEnum):
    """What a column of a log holds; what is not known is none in all of them."""

    TEXT = "text"
    INTEGER = "integer"  # calculated as a double
    NUMBER = "number"  # the same
    TIME = "time"  # a rule sees seconds since 1970; before that and from 2100 on it is none
    FLAG = "flag"  # true or false
    SET = "set"  # a set of texts; one that is not known is empty
    ADDRESS = "address"  # a network address, as a text
    HASHED = "hashed"  # a keyed hash: rules count how many distinct ones there are, and no more


_TYPES: Final[Mapping[EventColumnKind, FactType]] = MappingProxyType(
    {
        EventColumnKind.TEXT: str,
        EventColumnKind.INTEGER: int,
        EventColumnKind.NUMBER: float,
        EventColumnKind.TIME: float,
        EventColumnKind.FLAG: bool,
        EventColumnKind.SET: frozenset[str],
        EventColumnKind.ADDRESS: str,
    }
)
_COUNTED: Final = (EventColumnKind.TEXT, EventColumnKind.ADDRESS, EventColumnKind.HASHED)
_EXAMPLES: Final[Mapping[EventColumnKind, object]] = MappingProxyType(
    {
        EventColumnKind.TEXT: "junk",
        EventColumnKind.INTEGER: 1,
        EventColumnKind.NUMBER: 1.0,
        EventColumnKind.TIME: 1_700_000_000.0,
        EventColumnKind.FLAG: True,
        EventColumnKind.SET: frozenset({"a", "b"}),
        EventColumnKind.ADDRESS: "192.0.2.25",
    }
)


class EventLogTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of an `[[event_log]]` table; this is their only list."""

    name: Name
    columns: (
        Annotated[
            dict[str, EventColumnKind],
            Meta(
                max_length=MAX_COLUMNS,
                description="Columns of a row that rules may name, and what each holds: text, "
                "integer, number, time, flag, set (of texts), address, hashed (counted only).",
                extra={"allowed": 'a table, such as { agent = "text", price = "number" }'},
            ),
        ]
        | UnsetType
    ) = UNSET
    events: (
        Annotated[
            list[str],
            Meta(
                max_length=MAX_EVENTS,
                description="All kinds of events.",
                extra={"allowed": 'names in brackets, such as ["click", "show"]'},
            ),
        ]
        | UnsetType
    ) = UNSET
    why: Why | UnsetType = UNSET


EVENT_LOGS: Final = TableSort(
    "event_log", "event log", EventLogTable, MAX_LOGS, (("columns",), ("events",))
)


class RuledLog(msgspec.Struct, frozen=True, kw_only=True):
    """A declared log of events."""

    name: str
    columns: Mapping[str, EventColumnKind]
    events: tuple[str, ...]

    def schema(self, lists: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> FactSchema:
        """Return what rules over its rows may name.

        Args:
            lists: the named lists of the policy.

        Raises:
            ValueError: a column has a name that means something else.
        """
        own = (
            Fact(
                name="event",
                type=str,
                stage=Stage.CONNECT,
                doc="What kind of event it is.",
                example=self.events[0],
                words=self.events,
            ),
            *(
                Fact(
                    name=name,
                    type=_TYPES[kind],
                    stage=Stage.CONNECT,
                    doc=f"Column of the log, kind {kind.value}.",
                    example=_EXAMPLES[kind],
                    optional=kind is not EventColumnKind.SET,
                )
                for name, kind in self.columns.items()
                if kind in _TYPES
            ),
        )
        return FactSchema(
            facts=(*own, *PERSON_FACTS),
            families=person_families(self.events, self.counted),
            findings={},
            lists=lists,
            tables=TableDialect(
                addresses=frozenset(
                    name for name, kind in self.columns.items() if kind is EventColumnKind.ADDRESS
                )
            ),
        )

    @property
    def counted(self) -> tuple[str, ...]:
        """Columns whose distinct values are counted: texts, addresses, hashes."""
        return tuple(name for name, kind in self.columns.items() if kind in _COUNTED)


def event_log(fields: Fields) -> RuledLog:
    """Return the log that files declare together.

    Raises:
        PolicyError: a column or kind of event that can't be one, with its place.
    """
    name = fields["name"].value
    columns, place = fields["columns"]
    for column in columns:
        if not _COLUMN.fullmatch(column) or column in KEPT_COLUMNS:
            what = (
                "is a column of every log" if column in KEPT_COLUMNS else "is no name of a column"
            )
            raise refuse(
                f"event log {name}: columns: {column[:60]} {what}; write small letters, digits and "
                "single underscores, such as user_agent",
                place,
            )
    events, place_of_events = fields["events"]
    for event in events:
        if len(event) > MAX_EVENT or not _EVENT.fullmatch(event):
            raise refuse(
                f'event log {name}: events: "{event[:60]}" is no kind of event; write letters, '
                f"digits and . _ : / -, at most {MAX_EVENT}",
                place_of_events,
            )
    if not events or len(set(events)) < len(events):
        raise refuse(f"event log {name}: events: one or more, each once", place_of_events)
    log = RuledLog(name=name, columns=columns, events=tuple(events))
    try:
        log.schema()
    except ValueError as fault:
        raise refuse(f"event log {name}: columns: {fault}", place) from None
    return log
