"""A draft as the loader reads it: what is wrong, where, and what would be right."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from oborona.desk.site import Site
from oborona.errors import ConfigError, PolicyError
from oborona.eventlog.declared_log import read_logs
from oborona.eventlog.ruled_logs import as_ruled
from oborona.eventlog.schema import OWN_NAMES
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.rule_tests import failure, run_tests

MOST_CACHES: Final = 4  # folders that people work on at once; a cache is some 20 MB
MOST_PROBLEMS: Final = 200


class PolicyProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, or hardly meant.

    Args:
        file: the path that it has, or will have; empty where it is of no file.
        line: 1-based, 0 = unknown.
        column: the same.
        message: what is wrong, and what is allowed there.
        warning: the policy can be used all the same.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    message: str
    warning: bool = False


class LintedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy as it was loaded, or why it can't be."""

    policy: Policy | None
    problems: tuple[PolicyProblem, ...]


class _KnownFolders:
    """What is known of folders that were loaded before: unchanged files are not parsed again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caches: OrderedDict[Path, tuple[threading.Lock, PolicyCache]] = OrderedDict()

    def of(self, folder: Path) -> tuple[threading.Lock, PolicyCache]:
        """Return the cache of a folder, and the lock under which it is used."""
        with self._lock:
            known = self._caches.pop(folder, None) or (threading.Lock(), PolicyCache())
            self._caches[folder] = known
            while len(self._caches) > MOST_CACHES:
                self._caches.popitem(last=False)
            return known


_KNOWN: Final = _KnownFolders()


def lint(
    site: Site, folder: Path, known_as: Path | None = None, *, feed: bool = False
) -> LintedPolicy:
    """Load a folder in the place of the site's own.

    Args:
        site: whose shipped policy and logs of events stand beside it.
        folder: of a draft or a version.
        known_as: the folder that it is a copy of, all but a file or two; None: none.
        feed: load it in the place of the feed's.
    """
    named = site.policy_folders
    folders = named._replace(feed=folder) if feed else named._replace(own=folder)
    lock, cache = _KNOWN.of(known_as or folder)
    try:
        declared = read_logs(Path(site.loaded.settings.paths.event_logs), OWN_NAMES)
        logs = [as_ruled(log.schema) for log in declared]
        with lock:
            policy = load_policy(folders, SCHEMA, cache, named=named, logs=logs)
        policy.events.refuse_unchecked()
    except ConfigError as error:
        return LintedPolicy(policy=None, problems=problems_of((error, *error.more), folders, named))
    warned = (*policy.compiled.warnings, *policy.events.warnings)
    return LintedPolicy(
        policy=policy,
        problems=tuple(
            PolicyProblem(
                file=warning.place.file,
                line=warning.place.line,
                column=warning.place.column,
                message=warning.problem,
                warning=True,
            )
            for warning in warned
        ),
    )


def problems_of(
    errors: Sequence[ConfigError], copy: PolicyFolders, named: PolicyFolders
) -> tuple[PolicyProblem, ...]:
    """Return errors as problems, in the site's own paths."""
    return tuple(
        PolicyProblem(
            file=_original(error.file, copy, named),
            line=error.line,
            column=error.column,
            message=error.problem,
        )
        for error in errors[:MOST_PROBLEMS]
    )


def _original(file: str, copy: PolicyFolders, named: PolicyFolders) -> str:
    """Return the site's path of a file of a copy."""
    path = Path(file)
    if file and copy.own is not None and path == copy.own:
        return str(named.own)
    for folder, original in zip(copy, named, strict=True):
        if file and folder is not None and original is not None and path.parent == folder:
            return str(original / path.name)
    return file


def failed_tests(policy: Policy) -> tuple[int, tuple[PolicyProblem, ...]]:
    """Run the tests that stand beside rules; return how many there are, and those that fail."""
    every = (*policy.compiled.rules, *policy.events.rules)
    number = sum(len(rule.test) for rule in every if rule.enabled)
    failed: list[PolicyError] = [
        failure(test)
        for test in (
            *run_tests(policy.compiled, policy.conditions),
            *policy.events.failed_tests(),
        )
    ]
    return number, tuple(
        PolicyProblem(file=error.file, line=error.line, column=error.column, message=error.problem)
        for error in failed[:MOST_PROBLEMS]
    )
