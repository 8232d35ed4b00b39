"""What the names on a row mean: which it has after the pass, and whether they speak against its
person; and which persons are caught.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from oborona.eventlog.rules.compile import BETWEEN
from oborona.eventlog.schema import FraudLine
from oborona.eventlog.transform.check import DUPLICATE

FRAUD_PERSON: Final = "FRAUD_PERSON"
"""The name on all rows of a day of a person who was caught in it."""
_NO_OFFENCE: Final = frozenset((DUPLICATE, FRAUD_PERSON))
"""Names that say nothing against a person: sources log an event twice, and the verdict itself."""
MEANINGS: Final = pa.schema(
    [
        ("names_before", pa.string()),
        ("names_found", pa.string()),
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


def names_after(before: str, found: str, *, caught: bool) -> str:
    """Return the names of a row after the pass: what was given out stays, new names come behind.

    Args:
        before: names that it was given out with.
        found: those that fire on it in the light of the whole day.
        caught: its person was.
    """
    had = names_in(before)
    now = [*names_in(found), *((FRAUD_PERSON,) * caught)]
    return before + "".join(BETWEEN + name for name in now if name not in had)


def offences(before: str, found: str) -> frozenset[str]:
    """Return the names on a row that speak against its person."""
    return frozenset((*names_in(before), *names_in(found))) - _NO_OFFENCE


def offending(kinds: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the `before` and `found` that speak against a person, of `day.kinds_of_rows`."""
    schema = pa.schema([("names_before", pa.string()), ("names_found", pa.string())])
    pairs = {(kind["names_before"], kind["names_found"]) for kind in kinds}
    told = [
        {"names_before": before, "names_found": found}
        for before, found in sorted(pairs)
        if offences(before, found)
    ]
    return pa.Table.from_pylist(told, schema=schema)


def meanings(kinds: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return what follows from each `before` and `found` of `day.kinds_of_rows`, for a person who
    was caught and for one who was not.
    """
    pairs = {(kind["names_before"], kind["names_found"]) for kind in kinds}
    return pa.Table.from_pylist(
        [
            {
                "names_before": before,
                "names_found": found,
                "caught": caught,
                "names_after": names_after(before, found, caught=caught),
            }
            for before, found in sorted(pairs)
            for caught in (False, True)
        ],
        schema=MEANINGS,
    )


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
        kinds: `person`, `before`, `found` of their rows.
    """
    names: dict[int, set[str]] = {}
    for kind in kinds:
        names.setdefault(kind["person"], set()).update(
            offences(kind["names_before"], kind["names_found"])
        )
    return [
        FraudPerson(
            person=one["person"],
            events=one["events"],
            marked=one["marked"],
            rules=tuple(sorted(names.get(one["person"], ()))),
        )
        for one in counts
    ]
