"""The rules of the policy over event logs, as its files say by now.

A policy that can't be used leaves the last one in force, which is said in the log; at the start
there is no last one, and nothing is checked without its rules.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import ibis
import msgspec
from ibis.expr import types as ir

from oborona.config.eventlog import TableEngine
from oborona.errors import PolicyError
from oborona.eventlog.ruled_logs import as_ruled
from oborona.eventlog.rules.compile import RuleColumn, compile_rules, live_names, needed_facts
from oborona.eventlog.rules.facts import with_facts
from oborona.eventlog.schema import LogSchema
from oborona.policy.event_logs import RuledLog
from oborona.policy.event_rules import LogRules
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.telemetry.log import event

OF_CHECK: Final = frozenset({"duplicate", "person.abnormal"})
"""Facts that the rules of the system rest on: their columns are there."""
_VERSION: Final = 8  # characters
_SUFFIXES: Final = (".toml", ".list", ".lua")

_log = logging.getLogger("oborona.eventlog")


class EventRules(NamedTuple):
    """The rules of a policy over one log."""

    version: str
    columns: Mapping[str, RuleColumn] = {}  # of all that are on, by name, in their order
    live: tuple[str, ...] = ()  # those that a row shows
    needed: frozenset[str] = frozenset()  # facts that they name
    log: RuledLog | None = None
    scores: ir.Table | None = None  # what a model says of persons, where rules may see it
    dialect: TableEngine = TableEngine.DUCKDB  # the engine that they are written for

    @property
    def shadow(self) -> tuple[str, ...]:
        """Those that are counted and shown nowhere else."""
        return tuple(name for name in self.columns if name not in self.live)

    @property
    def persons_needed(self) -> frozenset[str]:
        """Facts of which a batch does not have the columns without looking at the day."""
        return frozenset(fact for fact in self.needed - OF_CHECK if "." in fact or "[" in fact)

    def with_day(
        self, rows: ir.Table, day: ir.Table, thresholds: Mapping[str, float], threshold: float
    ) -> ir.Table:
        """Return rows with the facts that the rules name.

        Their `id` is then their `place`, for ids of a source may be told twice; it is `source_id`.

        Args:
            rows: of a batch, with `place`, `abnormal`.
            day: rows of the tables before it, as they were delivered.
            thresholds: events of a person in a day beyond which he is abnormal, by name.
            threshold: of all other names.
        """
        known = rows.mutate(id=rows.place, source_id=rows.id, person_abnormal=rows.abnormal)
        if self.log is None or not self.persons_needed:
            return known
        lines = {name: thresholds.get(name, threshold) for name in self.log.events}
        # of the day only what the persons of the batch did
        past = day.semi_join(known.filter(known.person.notnull()), "person").mutate(
            id=ibis.literal(-1, "int64")
        )
        return with_facts(
            known,
            self.log,
            self.persons_needed,
            history=past,
            thresholds=lines,
            scores=self.scores,
            engine=self.dialect,
        )


class PolicyRules:
    """The rules of a policy for each log.

    Args:
        folders: of the policy.
        schemas: of all logs.
        dialect: the engine that rules are written for.

    Raises:
        PolicyError: the policy can't be used, or the engine can't calculate its rules.
    """

    def __init__(
        self,
        folders: PolicyFolders,
        schemas: Sequence[LogSchema],
        dialect: TableEngine = TableEngine.DUCKDB,
    ) -> None:
        self._folders = folders
        self._dialect = dialect
        self._logs = [as_ruled(schema) for schema in schemas]
        self._cache = PolicyCache()
        self._trouble = ""  # as it was said
        self._stamps = self._look()
        self._rules, self._of_days = self._loaded()

    def of(self, log: str) -> EventRules:
        """Return the rules in force for the tables of a log."""
        return self._rules[log]

    def of_day(self, log: str) -> EventRules:
        """Return the rules in force for whole days of a log: all of them."""
        return self._of_days[log]

    def follow(self) -> None:
        """Take the policy over if its files have changed."""
        try:
            stamps = self._look()
            if stamps == self._stamps:
                return
            self._stamps = stamps
            self._rules, self._of_days = self._loaded()
            self._trouble = ""
        except (PolicyError, OSError) as error:  # a file may go while it is looked at
            if str(error) != self._trouble:
                self._trouble = str(error)
                event(_log, logging.ERROR, "the last event rules stay in force", error=error)

    def _look(self) -> tuple[tuple[str, int, int, int], ...]:
        stamps = []
        for path in self._folders.files(*_SUFFIXES):
            found = path.stat()
            stamps.append((str(path), found.st_mtime_ns, found.st_size, found.st_ino))
        return tuple(stamps)

    def _loaded(self) -> tuple[dict[str, EventRules], dict[str, EventRules]]:
        policy = load_policy(self._folders, SCHEMA, self._cache, logs=self._logs)
        events = policy.events
        of_tables, of_days = (
            {log.name.lower(): self._of(policy, rules[log.name], log) for log in self._logs}
            for rules in (events.of_tables, events.by_log)
        )
        for problem in events.unchecked:
            event(_log, logging.WARNING, "an event rule looks at no row", why=problem)
        return of_tables, of_days

    def _of(self, policy: Policy, rules: LogRules, log: RuledLog) -> EventRules:
        columns = compile_rules(rules, log, self._dialect)
        return EventRules(
            version=f"{policy.version} log {_version_of(log)}" if columns else policy.version,
            columns=columns,
            live=live_names(rules),
            needed=needed_facts(rules),
            log=log,
            dialect=self._dialect,
        )


def _version_of(log: RuledLog) -> str:
    """Return what is another one whenever a log is declared otherwise."""
    meant = msgspec.json.encode((log.columns, sorted(log.events)), order="deterministic")
    return hashlib.sha256(meant).hexdigest()[:_VERSION]
