"""The shape of an event log: its columns, and what makes one event the same as another.

Each table of a log has the standard columns first, then those of its own:

    id      of the event, as its source has it; not null
    time    when it happened; null where the source gave no time that can be told
    event   its name, such as `complaint`; not null
    person  keyed hash of who did it; null = nobody
    key     keyed hash of what it says; two events with the same are one told twice; null = every
            event is its own

A checked table has `rules` behind them: the names of the rules that it fired.

No package of event logs is needed here: the HTTP door reads declarations, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from oborona.errors import ConfigError
from oborona.policy.event_columns import ColumnKind

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
"""Names of logs and columns: what any engine and any folder takes as it stands."""
STANDARD: Final = ("id", "time", "event", "person", "key")
RULES: Final = "rules"
WORK: Final = (
    *("place", "moment", "table", "day", "duplicate", "abnormal", "slot", "date"),
    *("names_before", "names_found", "names_after", "names_shadow", "told_twice", "of_place"),
    *("names_given", "names_quiet", "rules_given"),
)
"""Columns that a batch, a day, or a table by event time, has beside those of its log."""
EventRow = tuple[Any, ...]
"""Values of one event, in the order of its schema's columns."""
OWN_NAMES: Final = frozenset(
    {"feedback", "messages", "refusals", "moves", "deeds", "incidents", "flows", "logins"}
)
"""Logs of our own; all others are declared."""
DEFAULT_THRESHOLD: Final = 300.0  # events of one name of one person in a day


STORED_KINDS: Final = tuple(
    kind for kind in ColumnKind if kind not in (ColumnKind.SET, ColumnKind.ADDRESS)
)
"""Kinds of columns that tables have; the others are of the language of rules alone, so far."""


class LogColumn(msgspec.Struct, frozen=True):
    """A column of a log beside the standard ones; any value of it may be null."""

    name: str
    kind: ColumnKind


class FraudLine(msgspec.Struct, frozen=True, kw_only=True):
    """From what of a person's rows of a day on that rules marked the person is caught."""

    share: float = 0.5  # of them, and
    least: float = 5  # so many; or
    many: float = 300  # so many, whatever their share


class LogSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The shape of a log's tables.

    Raises:
        ConfigError: a name is none, or is given twice.
    """

    name: str
    columns: tuple[LogColumn, ...] = ()
    events: tuple[str, ...] = ()  # all kinds; none given: any
    id_kind: ColumnKind = ColumnKind.INTEGER  # or text
    thresholds: Mapping[str, float] = MappingProxyType({})  # by event
    threshold: float = DEFAULT_THRESHOLD  # of all others
    fraud: FraudLine = FraudLine()
    outcomes: tuple[str, ...] = ()  # columns that verdicts on persons have a part in

    def __post_init__(self) -> None:
        names = [*STANDARD, RULES, *WORK, *(column.name for column in self.columns)]
        for name in (self.name, *names):
            if not NAME.fullmatch(name):
                raise ConfigError(
                    f"event log {self.name[:80]!r}: {name[:80]!r} is no name; write small letters,"
                    " digits and _, at most 63"
                )
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ConfigError(
                f"event log {self.name}: the column {min(twice)} is there twice, or is one of ours"
            )
