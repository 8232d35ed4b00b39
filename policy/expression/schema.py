"""Which facts a rule may name: their types, and the stage from which each is known.

A fact's dotted name is read from the facts object as an attribute with underscores (`text.words` is
`facts.text_words`). Besides plain facts there are two families:
  count[TYPE].WINDOW.METRIC   what is counted of this message's shingle of a type; see `CountedType`
                              and `COUNT_READERS`
  found("finding-name")       whether a check found something; see `FactSchema.findings`
A fact that may be unknown is `optional`, and then None.  A schema of the rows of tables has two
more: `FactFamily` (`person.day[click]`), and named lists of texts.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

from oborona.policy.expression.forms import TextForm
from oborona.types import CounterPrefix, Metric, RuleWindow, Stage

FactType = type[int] | type[float] | type[bool] | type[str] | type[frozenset[str]]

# the one word of Python's grammar that a fact's name may begin with: from.domain
KEYWORD_FACT: Final = "from"
_FACT_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[._][a-z0-9]+)*")
WINDOWS: Final = MappingProxyType({span.name.lower(): span for span in RuleWindow})
METRICS: Final = MappingProxyType({metric.name.lower(): metric for metric in Metric})
COUNT_READERS: Final = MappingProxyType(
    {"count": "f", "count_in": "f.inbound", "count_out": "f.outbound"}
)
"""What gives the counts of each direction: the message's own, mail to us, mail from us."""
ACROSS: Final = MappingProxyType({"count_in": CounterPrefix.OUT, "count_out": CounterPrefix.IN})
"""The messages whose own direction that is not."""
DERIVED_METRICS: Final = ("ham", "spam_share")  # methods of the facts object of their own


class PieceKind(StrEnum):
    """What a piece of an expression yields; the values are the words of error texts."""

    NUMBER = "a number"
    CONDITION = "a condition (true or false)"
    TEXT = "a text"
    SET = "a set of texts"
    LIST = "a list"
    NONE = "none"


class _TypedName:
    """What facts and families of facts are called and taken for."""

    __slots__ = ()
    name: str
    type: FactType

    @property
    def attribute(self) -> str:
        """What the facts object calls it."""
        return self.name.replace(".", "_")

    @property
    def kind(self) -> PieceKind:
        """What an expression takes it for."""
        return _KINDS[self.type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(_TypedName):
    """One thing that is known of a message."""

    name: str  # dotted, such as text.words
    type: FactType
    stage: Stage  # the first at which it is known
    doc: str  # one line for the reference
    unit: str = ""  # such as bytes, hours, share 0 to 1; empty: it has none
    example: object = None  # a value of its type
    optional: bool = False  # it may be unknown: none
    words: tuple[str, ...] = ()  # the only texts that it may be, or hold; none given: any
    form: TextForm = TextForm.SENT  # how its texts are written
    longest: int = 0  # characters of its longest text; 0: as many as there are

    def __post_init__(self) -> None:
        if not _FACT_NAME.fullmatch(self.name) or "__" in self.attribute:
            raise ValueError(f"not a name of a fact: {self.name!r}")
        first, *others = re.split(r"[.]", self.name)
        if any(map(keyword.iskeyword, others)) or (
            keyword.iskeyword(first) and first != KEYWORD_FACT
        ):
            raise ValueError(f"{self.name!r} holds a word of the language")
        if self.name in _RESERVED:
            raise ValueError(f"{self.name!r} has a meaning of its own in expressions")
        self.kind  # noqa: B018 - a type that is none of ours shall fail here


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedType:
    """A shingle type whose counts rules may ask for, as `count[name]`, `count_in[name]` or
    `count_out[name]`.
    """

    name: str
    number: int  # 1..75, what `facts.count(number, window, metric)` gets
    stage: Stage
    doc: str
    # of what counts distinct things: what distinct() calls it, such as "recipients per sender"
    distinct: str = ""
    family: str = "count"  # in which direction: a key of `COUNT_READERS`

    @property
    def label(self) -> str:
        """As rules write it."""
        return f"{self.family}[{self.name}]"

    def __post_init__(self) -> None:
        if not (self.name.isidentifier() and self.name.isascii()):
            raise ValueError(f"not a name of a shingle type: {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFamily(_TypedName):
    """Facts of one sort, one for each of several names: `person.day[click]`.

    The facts object has for a family its attribute: a mapping of its members to their values.
    """

    name: str  # dotted, such as person.day
    members: tuple[str, ...]  # what stands in brackets, in quotes where it is no name
    type: FactType
    stage: Stage
    doc: str
    unit: str = ""
    example: object = None
    optional: bool = False  # they may be unknown: none


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDialect:
    """What an expression keeps to that is calculated by an engine of tables, too.

    All its numbers are doubles, as they are there; what no such engine can do alike is refused.
    """

    addresses: frozenset[str] = frozenset()  # facts that are network addresses


_KINDS: Final[Mapping[object, PieceKind]] = MappingProxyType(
    {
        int: PieceKind.NUMBER,
        float: PieceKind.NUMBER,
        bool: PieceKind.CONDITION,
        str: PieceKind.TEXT,
        frozenset[str]: PieceKind.SET,
    }
)
_RESERVED: Final = frozenset({*COUNT_READERS, "found", "fired", "it", "true", "false", "none"})


@dataclass(frozen=True, kw_only=True)
class FactSchema:
    """All that rules may name.

    The facts object has, for each fact, its attribute; and when counts or findings are named, the
    methods `count(type, window, metric) -> int | None`, `ham(type, window) -> int | None`,
    `spam_share(type, window) -> float | None`, which its `inbound` and `outbound` have, too,
    `robotic(type) -> float | None`, `found(name) -> bool`; None where the counters could not be
    asked. They may compute lazily; what they raise is reported and kills no other rule.
    """

    facts: tuple[Fact, ...] = ()
    counted: tuple[CountedType, ...] = ()
    # None: any name, from the content stage on
    findings: Mapping[str, Stage] | None = field(default=None)
    families: tuple[FactFamily, ...] = ()
    # lists of texts that have a name
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: TableDialect | None = None  # None: its rules are for one facts object at a time

    def __post_init__(self) -> None:
        for facts in ({f.attribute: f for f in self.facts}, {f.name: f for f in self.facts}):
            if len(facts) != len(self.facts):
                raise ValueError("two facts of one name")
        if len(self.by_type) != len(self.counted):
            raise ValueError("two shingle types of one name")

    @cached_property
    def by_name(self) -> Mapping[str, Fact]:
        """Facts by their dotted name."""
        return {fact.name: fact for fact in self.facts}

    @cached_property
    def by_family(self) -> Mapping[str, FactFamily]:
        """Families by their dotted name."""
        return {family.name: family for family in self.families}

    @cached_property
    def by_pair(self) -> Mapping[str, CountedType]:
        """Shingle types that count distinct things, by what they are called."""
        return {counted.distinct: counted for counted in self.counted if counted.distinct}

    @cached_property
    def by_type(self) -> Mapping[str, CountedType]:
        """Shingle types by name."""
        return {counted.name: counted for counted in self.counted}
