"""What differs between two policies: line by line, and by what they mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from oborona.stores.policy_versions.digests import FileSet

MOST_LINES: Final = 20_000  # of a file, beyond which no line is looked for in the other one
MOST_SHOWN: Final = 2_000  # lines of a difference
MOST_CHANGES: Final = 2_000
_LONG: Final = 120  # characters of a value
# sorts whose members are fields of one table
_SINGLE: Final = frozenset({"cap", "member", "trapped"})


class FileDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What differs in a file.

    Args:
        file: its name.
        state: added, removed, changed.
        lines: as `diff -u` has them.
        cut: there are more.
    """

    file: str
    state: str
    lines: tuple[str, ...]
    cut: bool = False


class MeaningChange(msgspec.Struct, frozen=True, kw_only=True):
    """What differs in the meaning of a rule, a list or a table.

    Args:
        sort: rule, condition, dns_list, local_list, verdict, …
        name: of the rule or list; empty for a table that is there once.
        state: added, removed (or switched off), changed.
        text: all of it in words: "score 30 → 45, mode shadow → live".
        fields: the changed ones, by name: before and after, as the policy means them.
    """

    sort: str
    name: str
    state: str
    text: str
    fields: dict[str, tuple[Any, Any]] = {}


def file_differences(before: FileSet, after: FileSet) -> list[FileDifference]:
    """Return what differs, file by file, in the order of names."""
    return [
        _file_difference(name, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _file_difference(name: str, before: bytes | None, after: bytes | None) -> FileDifference:
    old, new = (
        [] if raw is None else raw.decode("utf-8", "replace").splitlines()
        for raw in (before, after)
    )
    state = "added" if before is None else "removed" if after is None else "changed"
    if max(len(old), len(new)) > MOST_LINES:
        return FileDifference(
            file=name, state=state, lines=(f"{len(old):,} lines → {len(new):,} lines",), cut=True
        )
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="")
    shown = [line for _, line in zip(range(MOST_SHOWN + 1), lines, strict=False)]
    return FileDifference(
        file=name, state=state, lines=tuple(shown[:MOST_SHOWN]), cut=len(shown) > MOST_SHOWN
    )


def meaning_changes(before: bytes, after: bytes) -> list[MeaningChange]:
    """Return what differs in meaning.

    Args:
        before: `Policy.means` of the one.
        after: of the other.
    """
    old, new = (
        msgspec.json.decode(means, type=dict[str, dict[str, Any]]) for means in (before, after)
    )
    changes = [
        change
        for sort in {**old, **new}
        for change in _of_sort(sort, old.get(sort, {}), new.get(sort, {}))
    ]
    return changes[:MOST_CHANGES]


def _of_sort(
    sort: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[MeaningChange]:
    if before == after:
        return
    named = sort not in _SINGLE and all(
        isinstance(table, dict | list) for table in (*before.values(), *after.values())
    )
    if not named:
        fields = _changed(before, after)
        yield MeaningChange(sort=sort, name="", state="changed", text=_words(fields), fields=fields)
        return
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if old is None or new is None:
            state = "added" if old is None else "removed"
            yield MeaningChange(sort=sort, name=name, state=state, text=f"{sort} {name} {state}")
            continue
        fields = (
            _changed(old, new)
            if isinstance(old, dict) and isinstance(new, dict)
            else {"is": (old, new)}
        )
        yield MeaningChange(
            sort=sort, name=name, state="changed", text=_words(fields), fields=fields
        )


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        name: (before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }


_UNSAID: Final = {"mode": "live", "say": '""', "group": "none", "stage": "by its facts"}
"""What a field that is not there means, of those with a default that people know."""


def _words(fields: Mapping[str, tuple[Any, Any]]) -> str:
    return ", ".join(
        f"{_list_words(name, *values)}"
        if all(isinstance(value, list) for value in values)
        else f"{name} {_shown(name, values[0])} → {_shown(name, values[1])}"
        for name, values in fields.items()
    )


def _list_words(name: str, before: list[Any], after: list[Any]) -> str:
    new = [item for item in after if item not in before]
    gone = [item for item in before if item not in after]
    told = [f"+{item}" for item in new[:5]] + [f"-{item}" for item in gone[:5]]
    more = max(0, len(new) - 5) + max(0, len(gone) - 5)
    return f"{name} {' '.join(told) or 'in another order'}{f' and {more} more' if more else ''}"[
        :400
    ]


def _shown(name: str, value: Any) -> str:
    if value is None:
        return _UNSAID.get(name, "default")
    if isinstance(value, float):
        return f"{value:g}"
    text = value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"
