"""Every setting, rule and list in force, and from where."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from oborona.config import SECTIONS, LoadedSettings
from oborona.policy.file_tables import SINGLE
from oborona.policy.folders import FileOwner, PolicyFolders
from oborona.policy.load import Policy

_RULE_FIELDS = ("when", "score", "say", "reader", "mode", "stage", "group", "enabled", "why")


class OriginRow(msgspec.Struct, frozen=True, kw_only=True):
    """A value in force.

    Args:
        name: as in rule.MANY_LINKS.score.
        value: as its file gave it.
        origin: FILE:LINE, or what else it comes from.
        whose: of a policy's, whose file that is.
    """

    name: str
    value: Any
    origin: str
    whose: FileOwner | None = None


def setting_rows(loaded: LoadedSettings) -> list[OriginRow]:
    """Return all settings."""
    return [
        OriginRow(
            name=f"{section}.{key}",
            value=getattr(attrgetter(section)(loaded.settings), key),
            origin=loaded.origins[f"{section}.{key}"],
        )
        for section, schema in SECTIONS.items()
        for key in schema.__struct_fields__
    ]


def policy_rows(policy: Policy) -> list[OriginRow]:
    """Return all of a policy."""
    return [
        OriginRow(name=name, value=value, origin=where, whose=whose(policy.folders, where))
        for name, value, where in _policy_values(policy)
    ]


def _policy_values(policy: Policy) -> Iterator[tuple[str, Any, str]]:
    for name, schema in SINGLE.items():
        for key in schema.__struct_fields__:
            where = policy.origins.get(f"{name}.{key}", "default")
            yield f"{name}.{key}", getattr(getattr(policy, name), key), where
    for rule in policy.rules:
        for key in _RULE_FIELDS:
            origin = policy.origins.get(f"rule.{rule.name}.{key}")
            if origin is not None or key == "score":
                yield f"rule.{rule.name}.{key}", getattr(rule, key), origin or "default"
    for name, turned in policy.compiled.turned.items():
        sort = "rule" if f"rule.{name}.when" in policy.origins else "condition"
        yield f"{sort}.{name}.looked_for", turned, policy.origins[f"{sort}.{name}.when"]
    for function in policy.scripts.functions if policy.scripts is not None else ():
        if function.rule is None:
            lines = f"function in lines {function.place.line} to {function.last}"
            place = f"{function.place.file}:{function.place.line}"
            yield f"check.{function.name}.run", lines, place
    for name, value in policy.lists.items():
        yield name, value, policy.origins[name]


def whose(folders: PolicyFolders, where: str) -> FileOwner | None:
    """Return whose the file of a place is; None where it is no place."""
    path, colon, line = where.rpartition(":")
    return folders.whose(Path(path)) if colon and line.isdigit() else None
