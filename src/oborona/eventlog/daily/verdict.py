"""What the names on a row mean: which it has after the pass, and whether they speak against its
person; and which persons are caught.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from oborona.eventlog.rule_names import DUPLICATE, FRAUD_PERSON
from oborona.eventlog.rules.compile import BETWEEN
from oborona.eventlog.schema import FraudLine
from oborona.eventlog.suppression.names import is_quiet, told_apart
from oborona.eventlog.transform.check import QUIET
from oborona.eventlog.transform.day import KINDS

_NO_OFFENCE: Final = frozenset((DUPLICATE, FRAUD_PERSON))
"""Names that say nothing against a person: sources log an event twice, and the verdict itself."""
MEANINGS: Final = pa.schema(
    [
        ("names_before", pa.string()),
        ("names_found", pa.string()),
        (QUIET, pa.string()),
        ("caught", pa.bool_()),
        ("names_after", pa.string()),
    ]
)


class FraudPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person who was caught on a day."""

    person: int  # keyed hash
    events: int  # rows of the day
    marked: int  # those that a rule marked
    rules: tuple[str, ...]  # that did, by name


def names_in(text: str) -> list[str]:
    """Return the names of a text that has a comma before each."""
    return text.split(BETWEEN)[1:]


def names_after(before: str, found: str, quiet: str = "", *, caught: bool) -> str:
    """Return the names of a row after the pass: what was given out stays, new names come behind.

    Args:
        before: names that it was given out with.
        found: those that fire on it in the light of the whole day.
        quiet: those that are not held against its person (`suppression.names`).
        caught: its person was.
    """
    had = names_in(before)
    now = [*names_in(told_apart(found, quiet)[0]), *((FRAUD_PERSON,) * caught)]
    return before + "".join(BETWEEN + name for name in now if name not in had)


def offences(before: str, found: str, quiet: str = "") -> frozenset[str]:
    """Return the names on a row that speak against its person; arguments as of `names_after`."""
    names = frozenset((*names_in(before), *names_in(found))) - _NO_OFFENCE
    return frozenset(name for name in names if not is_quiet(name, quiet))


def offending(kinds: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the kinds of `day.kinds_of_rows` that speak against a person."""
    told = [dict(zip(KINDS, kind, strict=True)) for kind in _kinds(kinds) if offences(*kind)]
    return pa.Table.from_pylist(told, pa.schema([(name, pa.string()) for name in KINDS]))


def meanings(kinds: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return what follows from each kind of `day.kinds_of_rows`, for a person who was caught and
    for one who was not.
    """
    return pa.Table.from_pylist(
        [
            {
                **dict(zip(KINDS, kind, strict=True)),
                "caught": caught,
                "names_after": names_after(*kind, caught=caught),
            }
            for kind in _kinds(kinds)
            for caught in (False, True)
        ],
        schema=MEANINGS,
    )


def suppressed_counts(kinds: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return how many rows each rule would have marked, were it not suppressed for their person.

    Args:
        kinds: of `day.kinds_of_rows`.
    """
    counts = Counter[str]()
    for kind in kinds:
        for column in ("names_found", "names_shadow"):
            for name in names_in(told_apart(kind[column], kind[QUIET])[1]):
                counts[name] += kind["rows"]
    return counts


def is_caught(events: int, marked: int, line: FraudLine) -> bool:
    """Tell whether a person is caught: too large a share of his rows is marked, or too many are.

    Args:
        events: rows of the day.
        marked: those of them that speak against him.
        line: of the log.
    """
    return marked >= line.many or (marked >= line.least and marked >= line.share * events)


def fraud_persons(
    counts: Sequence[Mapping[str, Any]], kinds: Iterable[Mapping[str, Any]]
) -> list[FraudPerson]:
    """Return the persons who were caught.

    Args:
        counts: `person`, `events`, `marked` of each of them.
        kinds: of `day.kinds_of_persons`.
    """
    names: dict[int, set[str]] = {}
    for kind in kinds:
        names.setdefault(kind["person"], set()).update(offences(*(kind[name] for name in KINDS)))
    return [
        FraudPerson(
            person=one["person"],
            events=one["events"],
            marked=one["marked"],
            rules=tuple(sorted(names.get(one["person"], ()))),
        )
        for one in counts
    ]


def _kinds(kinds: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return sorted({tuple(kind[name] for name in KINDS) for kind in kinds})
