"""What rules over the rows of a log of events may name.

Which columns a log has, and which kinds of events, is declared where its tables are made: those of
our own in `oborona.policy.own_event_logs`, those of others in a file of each (`eventlog.d`), which
whoever loads a policy hands in.

Each row is one event of one person.  Beside its own columns a rule may name what the rows before it
say of the person (`oborona.policy.person_facts`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from oborona.policy.event_columns import ColumnKind
from oborona.policy.expression import Fact, FactSchema, FactType
from oborona.policy.expression.schema import TableDialect
from oborona.policy.person_facts import PERSON_FACTS, person_families
from oborona.types import Stage

_COLUMN: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# columns of every log that have a meaning of their own
KEPT_COLUMNS: Final = frozenset({"id", "key", "person", "event", "time", "rules"})

_TYPES: Final[Mapping[ColumnKind, FactType]] = MappingProxyType(
    {
        ColumnKind.TEXT: str,
        ColumnKind.INTEGER: int,
        ColumnKind.NUMBER: float,
        ColumnKind.TIME: float,
        ColumnKind.FLAG: bool,
        ColumnKind.SET: frozenset[str],
        ColumnKind.ADDRESS: str,
    }
)
_COUNTED: Final = (ColumnKind.TEXT, ColumnKind.ADDRESS, ColumnKind.HASHED)
_EXAMPLES: Final[Mapping[ColumnKind, object]] = MappingProxyType(
    {
        ColumnKind.TEXT: "junk",
        ColumnKind.INTEGER: 1,
        ColumnKind.NUMBER: 1.0,
        ColumnKind.TIME: 1_700_000_000.0,
        ColumnKind.FLAG: True,
        ColumnKind.SET: frozenset({"a", "b"}),
        ColumnKind.ADDRESS: "192.0.2.25",
    }
)


class RuledLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log of events, as rules over its rows see it."""

    name: str  # in capitals
    columns: Mapping[str, ColumnKind]  # that rules may name
    events: tuple[str, ...] = ()  # all kinds; none given: any, and rules count none by its kind

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
                example=self.events[0] if self.events else "read",
                words=self.events,
            ),
            *(
                Fact(
                    name=name,
                    type=_TYPES[kind],
                    stage=Stage.CONNECT,
                    doc=f"Column of the log, kind {kind.value}.",
                    example=_EXAMPLES[kind],
                    optional=kind is not ColumnKind.SET,
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
                    name for name, kind in self.columns.items() if kind is ColumnKind.ADDRESS
                )
            ),
        )

    @property
    def counted(self) -> tuple[str, ...]:
        """Columns whose distinct values are counted: texts, addresses, hashes."""
        return tuple(name for name, kind in self.columns.items() if kind in _COUNTED)


def ruled_log(name: str, columns: Mapping[str, ColumnKind], events: tuple[str, ...]) -> RuledLog:
    """Return a log as rules see it, without the columns whose names mean something else to rules:
    `if`, `person_gap`.

    Args:
        name: of the log, in small letters.
        columns: all that it has beside those of every log.
        events: all kinds; empty: any.
    """
    log = RuledLog(name=name.upper(), columns={}, events=events)
    return msgspec.structs.replace(
        log, columns={column: kind for column, kind in columns.items() if _is_fact(column, kind)}
    )


def _is_fact(column: str, kind: ColumnKind) -> bool:
    if not _COLUMN.fullmatch(column) or column in KEPT_COLUMNS:
        return False
    try:
        RuledLog(name="", columns={column: kind}).schema()
    except ValueError:
        return False
    return True
