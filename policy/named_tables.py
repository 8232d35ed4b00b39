"""Named tables, and how later files change those of earlier ones.

A `[[rule]]`, `[[dns_list]]` or `[[local_list]]` whose name an earlier file has defined changes only
the fields that it gives: `90-local.toml` may set a score, or `mode = "shadow"`, or
`enabled = false`, and everything else stays as it was. The same name twice in one file is an error,
and so is one name for two kinds of tables, since headers and logs show names alone. There are no
includes and no other levels: file order alone decides, and every field knows its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from oborona.errors import PolicyError
from oborona.policy.faults import PolicyFaults
from oborona.reputation.subject import ListSubject
from oborona.toml import GivenValue, TomlDocument, TomlPlace, did_you_mean, table

Name = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Z][A-Z0-9]*(_[A-Z0-9]+)*\Z",
        max_length=64,
        description="What headers, logs and other files call it.",
        extra={
            "allowed": (
                "capital letters, digits and single underscores, at most 64, such as FROM_SPAMMY"
            )
        },
    ),
]

# in the policy folder itself, and no hidden one
LIST_FILE: Final = r"\A[A-Za-z0-9_][A-Za-z0-9._+-]*\.list\Z"
MAX_LIST_FILE: Final = 100  # characters of its name
MAX_TEXT: Final = 2_000  # characters of `when` and `why`
Enabled = Annotated[bool, Meta(description="false: as if it were not there.")]
Why = Annotated[str, Meta(max_length=MAX_TEXT, description="A note for the next admin.")]
Fields = dict[str, GivenValue]


def _nothing(document: TomlDocument, path: tuple[str | int, ...], fields: Fields) -> None:
    """Most sorts need no look beyond their schema."""


class TableSort(NamedTuple):
    """A sort of named tables."""

    key: str  # in a file: [[key]]
    word: str  # in errors
    schema: type[msgspec.Struct]
    most: int
    needed: tuple[tuple[str, ...], ...]  # fields of a new one; of each tuple one is enough
    # one table of one file
    inspect: Callable[[TomlDocument, tuple[str | int, ...], Fields], None] = _nothing


class NamedTables:
    """The named tables of the files so far, by sort and name.

    Args:
        sorts: all there are.
        faults: gets what is wrong; a table that is has no part in what follows.

    Attributes:
        tables: fields by sort and name.
        broken: names of tables that were left out, by sort: what names them is not wrong for that.
    """

    def __init__(self, sorts: tuple[TableSort, ...], faults: PolicyFaults) -> None:
        self.broken: dict[str, set[str]] = {sort.key: set() for sort in sorts}
        self._faults = faults
        self.tables: dict[str, dict[str, Fields]] = {sort.key: {} for sort in sorts}
        self._sorts = sorts
        # name -> sort's word, place of its definition
        self._taken: dict[str, tuple[str, TomlPlace]] = {}

    def add(self, document: TomlDocument, top: Fields) -> None:
        """Take the next file.

        Args:
            document: the file.
            top: its tables, of the right shape.
        """
        for sort in self._sorts:
            places: dict[str, TomlPlace] = {}
            earlier = list(self.tables[sort.key])
            for number in range(len(top[sort.key].value) if sort.key in top else 0):
                self.broken[sort.key].add(name := _named(document, sort, number))
                with self._faults:
                    self._add_one(document, sort, number, places, earlier)
                    self.broken[sort.key].discard(name)

    def _add_one(
        self,
        document: TomlDocument,
        sort: TableSort,
        number: int,
        places: dict[str, TomlPlace],
        earlier: list[str],
    ) -> None:
        path = (sort.key, number)
        start = document.key(*path)
        fields = table(
            document, path, sort.schema, name=_called(document, sort, number), error=PolicyError
        )
        if "name" not in fields:
            raise refuse(f"a {sort.word} without name", start)
        name, place = fields["name"]
        if name in places:
            raise refuse(
                (f"{sort.word} {name} is already defined in line {places[name].line} of this file"),
                place,
            )
        word, earlier_place = self._taken.get(name, (sort.word, place))
        if word != sort.word:
            raise refuse(f"{name} is the name of a {word} already ({earlier_place})", place)
        places[name] = start
        sort.inspect(document, path, fields)
        named = self.tables[sort.key]
        if name in named:
            named[name] |= {key: field for key, field in fields.items() if key != "name"}
            return
        for needed in sort.needed:
            if not any(key in fields for key in needed):
                raise refuse(_missing(sort, name, needed, earlier), place)
        if len(named) >= sort.most:
            raise refuse(f"more than {sort.most} {sort.word}s", start)
        named[name] = fields
        self._taken[name] = (sort.word, place)


def subjects(allowed: Iterable[ListSubject]) -> Meta:
    """Return what allows one or more of some subjects."""
    names = tuple(allowed)
    listed = ", ".join(f'"{name.value}"' for name in names)
    words = f"one or more of {listed}, each once, in brackets"

    def check(value: tuple[ListSubject, ...]) -> None:
        if not value or len(set(value)) < len(value) or not set(value) <= set(names):
            raise ValueError(f"not allowed; {words}")

    return Meta(description="What it is asked about.", extra={"allowed": words, "check": check})


def refuse(problem: str, place: TomlPlace) -> PolicyError:
    """Return the error of something that stands at a place."""
    return PolicyError(problem, file=place.file, line=place.line, column=place.column)


def _missing(sort: TableSort, name: str, needed: tuple[str, ...], earlier: list[str]) -> str:
    hint = did_you_mean(name, earlier) if earlier else ""
    hint = hint if hint.endswith("?") else ""
    choice = " or ".join(needed)
    return f"{sort.word} {name}: {choice} is missing, and no earlier file defines the {sort.word}{hint}"


def _called(document: TomlDocument, sort: TableSort, number: int) -> str:
    """Return how errors speak of a table whose fields are not checked yet."""
    name = _named(document, sort, number)
    return f"{sort.word} {name}" if name else f"[[{sort.key}]]"


def _named(document: TomlDocument, sort: TableSort, number: int) -> str:
    """Return the name of a table whose fields are not checked yet, empty where it has none."""
    entry = document.data[sort.key][number]
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) and name.isidentifier() and len(name) <= 64 else ""
