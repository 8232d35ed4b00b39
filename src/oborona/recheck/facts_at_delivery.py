"""Restores the facts of a message as they were when it was judged, from its journal entry: pure.

An entry may lack facts: the text is never kept, a fact may be newer than the entry, or the facts
were too large.  A missing fact is an object that fails when it is read: a rule that needs it
fails, by name, and is reported as not judged.  It is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, Final, NoReturn, cast, get_args, get_origin, get_type_hints

import msgspec

from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import Rows, VerdictEvidence
from oborona.policy.counts import MessageCounts
from oborona.policy.facts import Facts, with_values
from oborona.types import Metric, RuleWindow


class NotKept(Exception):  # noqa: N818 - reads as what happened
    """A rule asked for a fact that the journal does not keep."""


class UnkeptFact:
    """Stands for what is not kept: whatever is asked of it fails, but to be shown."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def _fail(self, *_: object) -> NoReturn:
        raise NotKept(f"{self._name} is not kept")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _fail
    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __hash__ = _fail
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        _fail
    )
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _fail
    __neg__ = __pos__ = __abs__ = __round__ = __float__ = __int__ = __index__ = _fail

    def __getattr__(self, _: str) -> NoReturn:
        self._fail()

    def __format__(self, _: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return "(not kept)"


class _KnownThen(MessageCounts):
    """The counts of an entry."""

    __slots__ = ("_robotic",)

    def __init__(self, evidence: VerdictEvidence) -> None:
        super().__init__(away=evidence.away)
        for kind, rows in evidence.counts:
            self._rows.setdefault(kind, []).extend(rows)
        self._robotic = evidence.robotic
        self.pinned = evidence.pinned
        self.across = _AcrossThen(self._rows, evidence)

    def robotic(self, kind: int) -> float | None:
        """Return how regularly a type of piece came.

        Time-lines that no rule asked for were not read.
        """
        return self._robotic.get(kind, _TIME_LINE)  # type: ignore[arg-type]


class _AcrossThen(MessageCounts):
    """The counts of an entry in the other direction, of those types that its rules asked for.

    Args:
        own: rows of its own direction, by type; not who holds them: hundreds of lists a message
            would wait for the collector.
        evidence: of the entry.
    """

    __slots__ = ("_own",)

    def __init__(self, own: Mapping[int, Rows], evidence: VerdictEvidence) -> None:
        super().__init__(away=evidence.away)
        self._own = own
        for kind, rows in evidence.across or ():
            self._rows.setdefault(kind, []).extend(rows)

    def count(self, kind: int, window: int, metric: int) -> int:
        """Return one count; what no rule asked for was not read."""
        if kind in self._own and not self.has(kind):
            return _ACROSS  # type: ignore[return-value]
        return super().count(kind, window, metric)


_ACROSS: Final = UnkeptFact("a count of the other direction")
_TIME_LINE: Final = UnkeptFact("a time-line")
_NOT_THERE: Final = object()

NEEDED: Final = (
    "client_name",
    "client_own",
    "from_address",
    "spf_result",
    "spf_helo",
    "dmarc_result",
    "dmarc_domain",
    "dmarc_aligned",
    "dkim_results",
    "dkim_unsigned",
    "lists_client",
    "lists_sender",
    "lists_content",
)
"""Facts without which nothing can be said: lists are asked by them."""

EMPTY_IF_NOT_KEPT: Final = frozenset(
    name
    for name in Facts.__struct_fields__
    if name == "outgoing" or name.partition("_")[0] in ("rspamd", "spamd", "clamd")
)
"""Facts that are empty where they are not kept: all mail was counted as what comes in, and nobody
else was asked, then.
"""

_NEEDED: Final = attrgetter(*NEEDED)
Reading = Callable[[Any], object]


def facts_then(entry: JournalEntry) -> Facts | None:
    """Return the facts of an entry as its rules saw them.

    None where they are not kept: see `why_not`.
    """
    if entry.kept is None or not entry.facts:
        return None
    try:
        facts = msgspec.convert(entry.facts, _then())
    except msgspec.ValidationError:
        facts = _mended(entry.facts)
    if any(type(value) is UnkeptFact for value in _NEEDED(facts)):
        return None
    msgspec.structs.force_setattr(facts, "known", _KnownThen(entry.kept))  # nobody else has it yet
    # a fact that is younger than entries, and is read off their counts
    if type(getattr(facts, "mass_earlier")) is UnkeptFact and entry.kept.counts:  # noqa: B009 - of another type than it says
        earlier = facts.known.copies(RuleWindow.EARLIER, Metric.SEEN)
        msgspec.structs.force_setattr(facts, "mass_earlier", earlier)
    for opinion in entry.kept.engines:
        if opinion.symbols:
            msgspec.structs.force_setattr(
                facts, f"{opinion.engine}_symbols", frozenset(opinion.symbols)
            )
    return facts


def _mended(stored: Mapping[str, object]) -> Facts:
    """Return facts without the values that are not what their names promise."""
    values: dict[str, Any] = {
        name: value
        for name, read, _ in _fields()
        if (value := read(stored.get(name, _NOT_THERE))) is not _NOT_THERE
    }
    return _then()(**values)


@cache
def _then() -> type[Facts]:
    """Return facts of which each that is not given is not kept."""
    hints = get_type_hints(Facts)
    fields: list[tuple[str, Any, Any]] = [
        (name, hints[name], getattr(_EMPTY, name) if name in EMPTY_IF_NOT_KEPT else unkept)
        for name, _, unkept in _fields()
    ]
    fields.append(("known", MessageCounts, MessageCounts()))
    facts_type = msgspec.defstruct("FactsThen", fields, bases=(Facts,), frozen=True, kw_only=True)
    return cast(type[Facts], facts_type)


def why_not(entry: JournalEntry) -> str:
    """Return why an entry can't be judged again, in words for people; empty where it can."""
    if entry.facts:
        if entry.kept is None:
            return "judged by an older Oborona, which kept no counts"
        return "" if facts_then(entry) is not None else "its facts were too large to be kept"
    return "never scanned to the end, or its evidence is purged"


@cache
def _fields() -> tuple[tuple[str, Reading, UnkeptFact], ...]:
    """Return each field of the facts, with what reads its value from JSON."""
    hints = get_type_hints(Facts)
    names = [name for name in Facts.__struct_fields__ if name != "known"]
    return tuple(
        (name, _reading(hints[name]), UnkeptFact(name.replace("_", "."))) for name in names
    )


def _reading(kind: Any) -> Reading:
    """Return what gives a value of a type, and `_NOT_THERE` for any other."""
    if get_origin(kind) is UnionType:
        (inner,) = (member for member in get_args(kind) if member is not type(None))
        read = _reading(inner)
        return lambda value: None if value is None else read(value)
    return _READINGS[kind]


def _text(value: object) -> object:
    return value if isinstance(value, str) else _NOT_THERE


def _flag(value: object) -> object:
    return value if isinstance(value, bool) else _NOT_THERE


def _whole(value: object) -> object:
    return value if type(value) is int else _NOT_THERE


def _number(value: object) -> object:
    if type(value) is int:
        return float(value)
    return value if isinstance(value, float) else _NOT_THERE


def _words(value: object) -> object:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        return _NOT_THERE
    return frozenset(value)


_READINGS: Final[Mapping[Any, Reading]] = {
    str: _text,
    bool: _flag,
    int: _whole,
    float: _number,
    frozenset[str]: _words,
}


def is_kept(fact: object) -> bool:
    """Tell whether a fact of an entry is kept."""
    return type(fact) is not UnkeptFact


def readable_fact(facts: Facts, name: str) -> Any:
    """Return one fact, of whatever type its field has; empty where it is not kept."""
    value = getattr(facts, name)
    return value if is_kept(value) else getattr(_EMPTY, name)


def readable(facts: Facts) -> tuple[Facts, frozenset[str]]:
    """Return facts that anybody can read, with what is not kept empty.

    And the names of that, for who must not believe it.
    """
    names = [
        name
        for name, value in zip(_names(), _getter()(facts), strict=True)
        if type(value) is UnkeptFact
    ]
    if not names:
        return facts, _NO_NAMES
    empty = {name: getattr(_EMPTY, name) for name in names}
    return with_values(facts, **empty), frozenset(name.replace("_", ".") for name in names)


@cache
def _names() -> tuple[str, ...]:
    return tuple(name for name, _, _ in _fields())


@cache
def _getter() -> Callable[[Facts], tuple[object, ...]]:
    return attrgetter(*_names())  # of three hundred facts at once: a loop takes ten times as long


_NO_NAMES: Final[frozenset[str]] = frozenset()
_EMPTY: Final = Facts(known=MessageCounts())
