"""Versions of the site's policy folder in which one rule was changed."""

from __future__ import annotations

import time
import tomllib
from typing import Any, Final

import msgspec

from oborona.stores.policy_versions.store import PolicyVersion, VersionState, VersionStore

MOST_VERSIONS: Final = 300  # that are looked through, from the newest on
MOST_NAMED: Final = 50
_RULES: Final = "rule"

Tables = list[dict[str, Any]]


class RuleHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Where a rule was changed.

    Args:
        versions: in which what the folder's TOML files say of it is another than in the one before.
        complete: all versions were looked through.
    """

    versions: tuple[PolicyVersion, ...]
    complete: bool


class _RuleTables:
    """Tables of one rule in files, each of which is parsed once."""

    def __init__(self, store: VersionStore, name: str) -> None:
        self._store = store
        self._name = name
        self._known: dict[str, Tables] = {}

    def of(self, version: PolicyVersion) -> list[Tables]:
        """Return what a version says of the rule, in the order in which files are read."""
        found = (
            self._of_file(digest)
            for file, digest in sorted(version.files.items())
            if file.endswith(".toml")
        )
        return [tables for tables in found if tables]

    def _of_file(self, digest: str) -> Tables:
        if digest not in self._known:
            self._known[digest] = self._parsed(self._store.content(digest))
        return self._known[digest]

    def _parsed(self, raw: bytes) -> Tables:
        if self._name.encode() not in raw:
            return []
        try:
            rules = tomllib.loads(raw.decode()).get(_RULES, [])
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
            return []  # nothing of it was ever in force
        if not isinstance(rules, list):
            return []
        return [one for one in rules if isinstance(one, dict) and one.get("name") == self._name]


def rule_history(store: VersionStore, name: str, within_s: float) -> RuleHistory:
    """Return the versions in which a rule was changed, the newest first.

    Args:
        store: of versions.
        name: of the rule.
        within_s: time after which what was found so far is returned.

    Raises:
        StoreError: the store can't be read.
    """
    until = time.monotonic() + within_s
    tables, changed = _RuleTables(store, name), list[PolicyVersion]()
    versions = store.list(MOST_VERSIONS)
    complete = len(versions) < MOST_VERSIONS
    newer: PolicyVersion | None = None
    said: list[Tables] = []
    for version in versions:
        if version.state is not VersionState.PUBLISHED:
            continue
        if time.monotonic() > until or len(changed) >= MOST_NAMED:
            return RuleHistory(versions=tuple(changed), complete=False)
        before = tables.of(version)
        if newer is not None and before != said:
            changed.append(newer)
        newer, said = version, before
    if newer is not None and said and complete:  # it was there from the beginning on
        changed.append(newer)
    return RuleHistory(versions=tuple(changed), complete=complete)
