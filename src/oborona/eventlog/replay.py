"""What rows of a log would get under other rules than those in force.

Tables are read as they were delivered, each with the day that was checked before it, as its batch
saw it; nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from ibis.expr import types as ir

from oborona.eventlog.batch.rows import batch_rows
from oborona.eventlog.batch.run import COUNTS, KEYS
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.policy_rules import OF_CHECK, EventRules
from oborona.eventlog.rules.compare import EXAMPLES, RuleComparison, compare_rules
from oborona.eventlog.schema import LogSchema
from oborona.eventlog.slots import DAY_S, delivered_at, slot_name, slot_start
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.parquet import read_table
from oborona.eventlog.transform.check import known_facts
from oborona.eventlog.transform.histories import event_counts, event_keys

_NOT_KEPT: Final = ("place", "moment", "table", "slot", "day", "key")
"""Columns of a batch that no rule names."""


class RuleReplay:
    """The checked tables of one log, to be judged by other rules.

    Args:
        schema: of the log.
        folder: of the log.
        store: what is known of it.
        engine: what computes.
    """

    def __init__(
        self, schema: LogSchema, folder: LogFolder, store: LogStore, engine: EventEngine
    ) -> None:
        self._schema = schema
        self._folder = folder
        self._store = store
        self._engine = engine

    def compare(
        self, before: EventRules, after: EventRules, since: float, examples: int = EXAMPLES
    ) -> RuleComparison:
        """Return what rows get by two sets of rules.

        Args:
            before: rules in force.
            after: other rules.
            since: Unix seconds; tables that were delivered from then on, as far as they are kept.
            examples: how many rows are shown.

        Raises:
            StoreError: a table can't be read.
        """
        rules = EventRules(
            version="",
            columns={**before.columns, **after.columns},
            needed=before.needed | after.needed,
            log=after.log or before.log,
            dialect=before.dialect,
        )
        checked = [
            table.name
            for table in self._store.checked(self._schema.name, since - DAY_S)
            if self._folder.source(table.name).exists()
        ]
        found = [
            self._facts(name, rules, _day_of(name, checked))
            for name in checked
            if delivered_at(name) >= since
        ]
        rows = (
            pa.concat_tables(found)
            if found
            else self._facts(slot_name(slot_start(since)), rules, [])
        )
        return compare_rules(
            self._engine.table("replayed", rows), before.columns, after.columns, examples
        )

    def _read(self, name: str) -> pa.Table:
        path = self._folder.source(name)
        if not path.exists():
            return arrow_schema(self._schema).empty_table()
        return read_table(path, arrow_schema(self._schema))

    def _facts(self, name: str, rules: EventRules, day: Sequence[str]) -> pa.Table:
        """Return the rows of a table with what rules ask for."""
        events = batch_rows({name: self._read(name)}, max(map(delivered_at, day), default=0))
        keys, counts = self._remembered(day if rules.needed & OF_CHECK else [])
        facts = known_facts(
            self._engine.table("events", events),
            keys,
            counts,
            self._schema.thresholds,
            self._schema.threshold,
            rules,
            self._engine.files("day", map(self._folder.source, day), arrow_schema(self._schema)),
        )
        if "source_id" in facts.columns:
            facts = facts.drop("id").rename(id="source_id")
        return self._engine.collect(facts.drop(*(set(_NOT_KEPT) & set(facts.columns))))

    def _remembered(self, day: Sequence[str]) -> tuple[ir.Table, ir.Table]:
        """Return what a batch remembers of earlier tables: keys, and events of persons."""
        keys, counts = KEYS.empty_table(), COUNTS.empty_table()
        if day:
            past = self._engine.table("past", batch_rows({one: self._read(one) for one in day}))
            keys = self._engine.collect(event_keys(past)).select(KEYS.names)
            counts = self._engine.collect(event_counts(past)).select(COUNTS.names)
        return self._engine.table("past_keys", keys), self._engine.table("past_counts", counts)


def _day_of(name: str, checked: Sequence[str]) -> list[str]:
    """Return the tables of the day before one, of those that were checked."""
    end = delivered_at(name)
    return [one for one in checked if one < name and delivered_at(one) > end - DAY_S]
