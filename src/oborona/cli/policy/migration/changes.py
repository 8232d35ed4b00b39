"""What an admin changed in a copy of a policy file that ships, as a file of tables of its own.

The version that was copied is the one that has most in common with the file; where two have as
much, nothing is held to be unchanged that only one of them said.  What stands in the file as it
stood in that version is not the admin's: there, what ships now holds.  Everything else is, and goes
into the new file; a table that was taken out is switched off there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from oborona.errors import PolicyError
from oborona.policy.file_tables import SINGLE, SORTS
from oborona.policy.shipped_files import FileVersion, fingerprint, statements_of
from oborona.toml import parse

NOTES: Final = frozenset({"why", "test", "terms"})  # decide nothing
BACK: Final[Mapping[str, Any]] = {
    "say": "",
    "mode": "live",
    "group": "",
    "enabled": True,
    "score": 0.0,
}
"""What a key of a table says that is not there; for other keys no value says that."""

_NAME: Final = re.compile(r"\b[A-Z][A-Z0-9_]*\b")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_ABLE_TO_BE_OFF: Final = frozenset(
    sort.key for sort in SORTS if "enabled" in sort.schema.__struct_fields__
)

Tables = dict[str, dict[str, Any]]
"""`verdict` or `rule.NAME` -> its keys."""


class PolicyFileChanges(NamedTuple):
    """What was changed in one file."""

    tables: Tables  # of the new file
    words: tuple[str, ...]  # a line on each change
    unsayable: tuple[str, ...]  # what no file of tables can say: the copy must stay


def copy_changes(
    name: str,
    raw: bytes,
    versions: tuple[FileVersion, ...],
    shipped: Mapping[str, Any],
    others: frozenset[str],
) -> PolicyFileChanges:
    """Return what was changed in a copy.

    Args:
        name: of the file.
        raw: the copy.
        versions: all that ever shipped under its name.
        shipped: what all files that ship now say together, as of `statements_of`.
        others: tables that other files of the site give, such as `rule.NAME`.

    Raises:
        PolicyError: the copy is no policy file.
    """
    mine = statements_of(parse(raw, name, PolicyError).data)
    bases = _bases(mine, versions)
    if not bases:
        return PolicyFileChanges(
            {}, (), ("it has nothing in common with any version that shipped",)
        )
    base = frozenset.intersection(*bases)
    tables: Tables = {}
    words, unsayable = list[str](), list[str]()
    ours = {table_of(key) for key in mine}
    theirs = {table_of(key) for key in shipped}
    for key, value in mine.items():
        table, field = table_of(key), key[len(table_of(key)) + 1 :]
        if fingerprint(key, value) in base or (key in shipped and shipped[key] == value):
            continue
        if table in theirs:
            tables.setdefault(table, {})[field] = value
            if field not in NOTES:
                ships = f"ships: {_shown(shipped[key])}" if key in shipped else "ships: not there"
                words.append(f"{table}: {field} = {_shown(value)} ({ships})")
        elif table not in tables:
            tables[table] = {
                statement[len(table) + 1 :]: mine[statement]
                for statement in mine
                if table_of(statement) == table
            }
            was = "shipped once and no more" if _has(base, table) else "yours"
            words.append(f"{table}: {was}; the whole table is kept")
    for table in list(_named_by(tables, mine, theirs | others)):
        tables[table] = {key[len(table) + 1 :]: mine[key] for key in mine if table_of(key) == table}
        words.append(
            f"{table}: ships no more, and is named by what is kept; the whole table is kept"
        )
    for table in sorted(theirs - ours - others - SINGLE.keys()):
        had = [_has(base, table) for base in bases]
        if all(had) and table.partition(".")[0] in _ABLE_TO_BE_OFF:
            tables[table] = {"enabled": False}
            words.append(f"{table}: taken out of the file; switched off")
        elif any(had) and not all(had):
            unsayable.append(
                f"{table} was taken out, or not there yet: of two versions, either may "
                f"have been copied"
            )
    for key, value in shipped.items():
        table = table_of(key)
        field = key[len(table) + 1 :]
        if key in mine or table not in ours or field in NOTES:
            continue
        if not any(fingerprint(key, value) in base for base in bases):
            continue  # a later program's
        default = _default(table, field)
        if default is None:
            unsayable.append(f"{table}: {field} was taken out, and no value says that")
        else:
            tables.setdefault(table, {})[field] = default
            words.append(
                f"{table}: {field} was taken out; {field} = {_shown(default)} says the same"
            )
    return PolicyFileChanges(tables, tuple(words), tuple(unsayable))


def policy_text(tables: Tables, head: str) -> str:
    """Return tables as a policy file.

    Args:
        tables: of it.
        head: its first lines, without the signs of a comment.
    """
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    for table, fields in tables.items():
        sort, dot, name = table.partition(".")
        lines += ["", f"[[{sort}]]" if dot else f"[{sort}]"]
        if dot:
            lines.append(f"name = {_toml(name)}")
        lines += [
            f"{_key(key)} = {_toml(value)}"
            for key, value in fields.items()
            if not (dot and key == "name")
        ]
    return "\n".join(lines) + "\n"


def table_of(key: str) -> str:
    """Return the table of a key: `verdict` of `verdict.spam_score`, `rule.X` of `rule.X.score`."""
    sort, _, rest = key.partition(".")
    return sort if sort in SINGLE else f"{sort}.{rest.partition('.')[0]}"


def _bases(mine: Mapping[str, Any], versions: tuple[FileVersion, ...]) -> list[frozenset[bytes]]:
    """Return what the versions said that have most in common with a copy.

    One, unless several have as much.
    """
    prints = frozenset(fingerprint(key, value) for key, value in mine.items())
    able = {
        version.said for version in versions if version.said is not None and version.said & prints
    }
    least = min((len(statements ^ prints) for statements in able), default=0)
    return [statements for statements in able if len(statements ^ prints) == least]


def _named_by(
    tables: Tables, mine: Mapping[str, Any], existing: frozenset[str] | set[str]
) -> Iterator[str]:
    """Yield tables of a copy that kept ones name, and those that these name, where nobody else
    gives them.
    """
    by_name = {table_of(key).partition(".")[2]: table_of(key) for key in mine}
    waiting = [value for fields in tables.values() for value in fields.values()]
    named = set(tables)
    while waiting:
        for name in _NAME.findall(json.dumps(waiting.pop(), default=str)):
            table = by_name.get(name)
            if table is not None and table not in named and table not in existing:
                named.add(table)
                waiting += [value for key, value in mine.items() if table_of(key) == table]
                yield table


def _has(base: frozenset[bytes], table: str) -> bool:
    """Tell whether a version had a table with a name."""
    return fingerprint(f"{table}.name", table.partition(".")[2]) in base


def _default(table: str, field: str) -> Any:
    if table in SINGLE:
        default = {
            option.name: option.default for option in msgspec.structs.fields(SINGLE[table])
        }.get(field)
        return list(default) if isinstance(default, tuple) else default
    return BACK.get(field)


def _shown(value: Any) -> str:
    text = _toml(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        if (
            "'" not in value
            and '"' in value + "\\"
            and value.isprintable()
            and ("\\" in value or '"' in value)
        ):
            return f"'{value}'"
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return (
            "{ "
            + ", ".join(f"{_key(key)} = {_toml(member)}" for key, member in value.items())
            + " }"
        )
    return "[" + ", ".join(map(_toml, value)) + "]"
