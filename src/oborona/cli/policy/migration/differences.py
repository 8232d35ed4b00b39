"""What two policies do not have in common, table by table, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from oborona.policy.file_tables import SINGLE
from oborona.policy.load import Policy

_WORDS: Final = {
    "cap": "cap of group",
    "member": "group of",
    "dns_list": "DNS list",
    "local_list": "local list",
    "signature_list": "signature list",
    "trapped": "traps",
}


class PolicyDifference(NamedTuple):
    """One thing that another policy says otherwise."""

    sort: str
    name: str  # of the table; of a single table empty
    key: str  # empty: the whole table
    before: Any  # None: it is not there, or has its default
    after: Any

    def told(self) -> str:
        """Return it in words."""
        phrase = (
            f"[{self.sort}]" if not self.name else f"{_WORDS.get(self.sort, self.sort)} {self.name}"
        )
        if self.sort in ("script", "trapped"):
            return f"{_WORDS.get(self.sort, self.sort)}: others"
        if not self.key:
            return f"{phrase}: {'new' if self.before is None else 'no more'}"
        if self.key == "file":
            return f"{phrase}: other entries in its file"
        return f"{phrase}: {self.key} {_shown(self.before)} → {_shown(self.after)}"


def differences(before: Policy, after: Policy) -> Iterator[PolicyDifference]:
    """Yield what two policies do not have in common, by what they mean."""
    old, new = _tables(before), _tables(after)
    for sort, name in sorted(old.keys() | new.keys()):
        was, becomes = old.get((sort, name)), new.get((sort, name))
        if was == becomes:
            continue
        if was is None or becomes is None:
            yield PolicyDifference(sort, name, "", was, becomes)
            continue
        for key in sorted(was.keys() | becomes.keys()):
            if was.get(key) != becomes.get(key):
                yield PolicyDifference(sort, name, key, was.get(key), becomes.get(key))


def is_as_shipped(difference: PolicyDifference, shipped: Policy) -> bool:
    """Tell whether what comes after is what the policy that ships says alone."""
    table = _tables(shipped).get((difference.sort, difference.name))
    if difference.key:
        return table is not None and bool(table.get(difference.key) == difference.after)
    return bool(table == difference.after)


def _tables(policy: Policy) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return what a policy means, by sort and name of tables."""
    meant: dict[str, dict[str, Any]] = msgspec.json.decode(policy.means)
    statements: dict[tuple[str, str], Mapping[str, Any]] = {}
    for sort, tables in meant.items():
        if sort in SINGLE:
            statements[sort, ""] = tables
        else:
            for name, fields in tables.items():
                statements[sort, name] = (
                    fields if isinstance(fields, Mapping) else {"value": fields}
                )
    return statements


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
