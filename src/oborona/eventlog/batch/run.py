"""A batch of a log, step by step; each may be repeated and comes to the same.

    begin     the tables, the version of the rules, the thresholds, and what is suppressed for whom
              are written down
    remember  what each table adds to the day is written, in files of the table's name
    check     rules fire; each table is written with them, when it has the rows of its source
    finish    the tables and the batch are written down as done

A process that is killed anywhere goes on with the batch that is not done: it writes the same files
again, or the same octets over them. What a table sees of the day are those that were checked before
it, by the slots in their names: never what time it is, nor in which batch it is.

A table that can't be read, or has other rows than when it was delivered, is set aside, and the
batch is begun anew without it. A batch for which memory does not suffice, or over which the process
ended twice, is begun anew with half of its tables.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from oborona.eventlog.batch.rows import (
    batch_rows,
    by_table,
    rule_counts,
    unshown_counts,
    with_rules,
)
from oborona.eventlog.batch.store import OTHERS, CheckedTable, EventShare, LogBatch, LogStore
from oborona.eventlog.batch.threshold_book import ThresholdBook
from oborona.eventlog.engines.engine import EngineMemoryError, EventEngine
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.log_metrics import count_checked
from oborona.eventlog.periods import PERIODS, shares
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.schema import LogSchema
from oborona.eventlog.slots import DAY_S, SLOT_S, delivered_at, slot_name, slot_span
from oborona.eventlog.suppression.book import SuppressionBook
from oborona.eventlog.suppression.names import quiet_table, without_suppressed
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import read_table, write_checked, write_table
from oborona.eventlog.tables.row_total import digits
from oborona.eventlog.tables.table_file import TableDamaged
from oborona.eventlog.transform.check import QUIET, fired_rules
from oborona.eventlog.transform.histories import event_counts, event_keys
from oborona.telemetry.log import event

KEYS: Final = pa.schema([("slot", pa.int64()), ("key", pa.int64()), ("moment", pa.int64())])
COUNTS: Final = pa.schema(
    [("slot", pa.int64()), ("person", pa.int64()), ("event", pa.string()), ("n", pa.int64())]
)
FIRED: Final = pa.schema(
    [("place", pa.int64()), *((name, pa.string()) for name in ("rules", "shadow", QUIET))]
)
MOST_TRIES: Final = 2

_log = logging.getLogger("oborona.eventlog")


class LogChecker:
    """Checks the tables of one log.

    Args:
        schema: of the log.
        folder: of the log.
        store: what is known of it.
        engine: what computes.
        rules: gives those of the policy; those of the system are always there.
        most: tables of a batch.
        clock: Unix seconds.
        renewed: thresholds that were made anew hold; else those that the log declares.
    """

    def __init__(
        self,
        schema: LogSchema,
        folder: LogFolder,
        store: LogStore,
        engine: EventEngine,
        *,
        rules: Callable[[], EventRules],
        most: int,
        clock: Callable[[], float],
        renewed: bool = True,
    ) -> None:
        self.schema = schema
        self._renewed = renewed
        self._folder = folder
        self._store = store
        self._thresholds = ThresholdBook(store, schema.name)
        self._suppressions = SuppressionBook(store, schema.name)
        self._engine = engine
        self._asked = rules
        self._rules = rules()
        self._most = self._now_most = most
        self._clock = clock

    def step(self) -> bool:
        """Check one batch; return whether there was one.

        Raises:
            TableMismatch: a table would have other rows than its source; the batch stays open.
            StoreError: a file can't be read or written; the batch stays open.
        """
        began = time.process_time()
        self._rules = self._asked()
        batch = self._resumed() or self._begun()
        if batch is None:
            return False
        aside: dict[str, str] = {}
        tables = self._read(batch, aside)
        if aside:
            self._store.drop(batch, aside, self._clock())
            for name, why in aside.items():
                event(
                    _log, logging.ERROR, "event table set aside", log=batch.log, table=name, why=why
                )
            return True
        try:
            self._remember(batch, tables)
            checked = self._check(batch, tables)
        except EngineMemoryError:
            if not self._halve(batch):
                raise
            return True
        newest = max(filter(None, (self._store.newest(batch), max(batch.tables))))
        self._store.finish(batch, checked, self._clock(), time.process_time() - began)
        self._count(checked)
        self._folder.forget(_day_before(newest))
        self._now_most = self._most
        return True

    def _resumed(self) -> LogBatch | None:
        """Return the batch that is not done, if the same comes of it again."""
        batch = self._store.unfinished(self.schema.name)
        if batch is None:
            return None
        if batch.rules != self._rules.version:
            self._store.drop(batch, {}, self._clock())
            return None
        if batch.tries >= MOST_TRIES and self._halve(batch):
            return None
        self._store.retry(batch)
        return batch

    def _begun(self) -> LogBatch | None:
        # what rules say of persons counts whole tables: a batch of several would see later ones
        most = 1 if self._rules.persons_needed else self._now_most
        tables = self._store.due(self.schema.name, most)
        if not tables:
            return None
        return self._store.begin(
            LogBatch(
                id=0,
                log=self.schema.name,
                tables=tables,
                rules=self._rules.version,
                thresholds=self._thresholds.lines(self.schema, renewed=self._renewed),
                suppressed=self._suppressions.in_force(
                    slot_span(tables[0])[0], slot_span(tables[-1])[1]
                ),
                begun=self._clock(),
            )
        )

    def _count(self, checked: Sequence[CheckedTable]) -> None:
        names = [table.name for table in checked]
        delivered = {
            one.name: one.delivered for one in self._store.sources(self.schema.name, names=names)
        }
        for table in checked:
            delay_s = max(0.0, table.done - delivered[table.name])
            count_checked(self.schema.name, table.rows, table.fired, delay_s)

    def _halve(self, batch: LogBatch) -> bool:
        """Give a batch up for one of half its tables; False where it has one alone."""
        if len(batch.tables) < 2:
            return False
        self._now_most = len(batch.tables) // 2
        self._store.drop(batch, {}, self._clock())
        event(
            _log,
            logging.WARNING,
            "event batch is tried with half of its tables",
            log=batch.log,
            tables=self._now_most,
        )
        return True

    def _read(self, batch: LogBatch, aside: dict[str, str]) -> dict[str, pa.Table]:
        """Return the tables of a batch; note in `aside` which can't be used, and why."""
        known = {
            source.name: source for source in self._store.sources(batch.log, names=batch.tables)
        }
        tables: dict[str, pa.Table] = {}
        for name in batch.tables:
            try:
                table = read_table(self._folder.source(name), arrow_schema(self.schema))
            except TableDamaged as damage:
                aside[name] = str(damage)
                continue
            source = known[name]
            if (table.num_rows, checksum_text(table)) != (source.rows, source.checksum):
                aside[name] = "it has other rows than when it was delivered"
            tables[name] = table
        return tables

    def _remember(self, batch: LogBatch, tables: Mapping[str, pa.Table]) -> None:
        """Write what each table adds to the day."""
        self._write_histories(tables)
        self._store.remember(batch, self._clock())

    def _write_histories(self, tables: Mapping[str, pa.Table]) -> None:
        if not any(table.num_rows for table in tables.values()):
            for name in tables:
                write_table(self._folder.keys(name), KEYS.empty_table())
                write_table(self._folder.counts(name), COUNTS.empty_table())
            return
        rows = self._engine.table("events", batch_rows(tables))
        for path, found, schema in (
            (self._folder.keys, event_keys, KEYS),
            (self._folder.counts, event_counts, COUNTS),
        ):
            told = self._engine.answer((found, self.schema.name), partial(found, rows))
            for name, history in by_table(tables, told):
                write_table(path(name), history.cast(schema))

    def _day(self, batch: LogBatch, newest: str | None) -> list[str]:
        """Return the names of the tables whose day a batch sees; what was lost is made again.

        Args:
            batch: whose day.
            newest: the last name that was checked before it.
        """
        since = max(map(_day_before, (min(batch.tables), *((newest,) if newest else ()))))
        names = self._store.remembered(batch, since)
        lost = {
            name: read_table(self._folder.source(name), arrow_schema(self.schema))
            for name in names
            if not (self._folder.keys(name).exists() and self._folder.counts(name).exists())
        }
        if lost:
            self._write_histories(lost)
        return names

    def _past(self, names: Collection[str]) -> list[Path]:
        """Return the files of earlier tables, where rules ask for what is in them."""
        return list(map(self._folder.source, names)) if self._rules.persons_needed else []

    def _check(self, batch: LogBatch, tables: Mapping[str, pa.Table]) -> list[CheckedTable]:
        newest = self._store.newest(batch)
        before = self._day(batch, newest)
        thresholds = dict(batch.thresholds)
        threshold = thresholds.pop(OTHERS)
        fired = FIRED.empty_table()
        if any(table.num_rows for table in tables.values()):  # a quiet log asks no engine
            rows = batch_rows(tables, 0 if newest is None else delivered_at(newest))
            past = self._past(before)
            quiet = quiet_table(batch.suppressed, map(slot_span, tables))
            asked = (
                self._engine.table("events", rows),
                self._engine.files("keys", map(self._folder.keys, before), KEYS),
                self._engine.files("counts", map(self._folder.counts, before), COUNTS),
                thresholds,
                threshold,
                self._rules,
                self._engine.files("day", past, arrow_schema(self.schema)),
                self._engine.table("suppressed", quiet) if quiet.num_rows else None,
            )
            lines = tuple(sorted(batch.thresholds.items()))
            same = (bool(before), bool(past), bool(quiet.num_rows), lines)
            fired = self._engine.answer(
                ("fired", self.schema.name, self._rules.version, tuple(self._rules.columns), *same),
                lambda: fired_rules(*asked),
            )
        done = []
        fired = without_suppressed(fired)
        unshown = unshown_counts(tables, fired)
        for name, table in with_rules(tables, fired).items():
            write_checked(self._folder.checked(name), table, tables[name])
            marked, counts = rule_counts(table.column("rules"))
            done.append(
                CheckedTable(
                    name=name,
                    batch=batch.id,
                    rows=table.num_rows,
                    checksum=checksum_text(table.select(tables[name].column_names)),
                    marked=marked,
                    fired=counts | unshown[name],
                    done=self._clock(),
                    shares=shares_of(table, name),
                )
            )
        return done


def shares_of(table: pa.Table, name: str) -> tuple[EventShare, ...]:
    """Return the parts of a checked table that belong to slots of event time."""
    return tuple(
        EventShare(
            period=period.name,
            slot=share.slot,
            rows=share.rows,
            checksum=digits(share.checksum),
        )
        for period in PERIODS
        for share in shares(table, name, period)
    )


def _day_before(table: str) -> str:
    """Return the first slot of the day that ends with a table."""
    return slot_name(delivered_at(table) - DAY_S + SLOT_S)
