"""Takes persons out of the tables of a log, one after the other.

    begin    nothing of the log is half merged, no day half gone over; that tables are being changed
             is written down
    slots    half hours and days: the rows to be removed are taken from what each slot has, then
             they are removed in one commit, and the files that had them
    passes   what passes over days found: revisions, who was caught, scores; side tables
    tables   those of five minutes: what each has from now on is written down, then its histories,
             the checked table and the table itself are written without the person
    finish   it is written down, and who it was is forgotten

A process that is killed anywhere goes on here before it does anything else: no table is checked or
merged that is not what is written down of it. What comes of the person later is new to the log.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from oborona.eventlog.batch.rows import rule_counts
from oborona.eventlog.batch.run import COUNTS, KEYS, shares_of
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.daily.book import DayPassBook
from oborona.eventlog.erasure.book import ErasureBook, NewTotals, PersonErasure
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.merge.book import MergeBook
from oborona.eventlog.periods import PERIODS
from oborona.eventlog.schema import RULES, LogSchema
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.delta import DeliveredTable
from oborona.eventlog.tables.parquet import read_table, write_table
from oborona.eventlog.tables.row_total import RowTotal
from oborona.eventlog.tables.table_file import TableDamaged, TableMismatch
from oborona.telemetry.log import event

_log = logging.getLogger("oborona.eventlog")


class PersonEraser:
    """Takes persons out of one log.

    Args:
        schema: of the log.
        folder: where its tables lie.
        store: what is known of it.
        begins: it begins what was asked for; else it goes on with what was begun alone, before
            anybody else works on the log.
        clock: Unix seconds.
    """

    def __init__(
        self,
        schema: LogSchema,
        folder: LogFolder,
        store: LogStore,
        *,
        begins: bool,
        clock: Callable[[], float],
    ) -> None:
        self._schema = schema
        self._folder = folder
        self._store = store
        self._book = ErasureBook(store, schema.name)
        self._merges = [MergeBook(store, schema.name, period.name) for period in PERIODS]
        self._passes = DayPassBook(store, schema.name)
        self._begins = begins
        self._clock = clock

    def step(self) -> bool:
        """Take one person out; return whether there was one.

        Raises:
            TableMismatch: a table is not what is written down of it; the erasure stays open.
            StoreError: a table can't be read or written; the same.
        """
        erasure = self._book.open(begun=not self._begins)
        if erasure is None or erasure.person is None:
            return False
        if erasure.begun is None:
            if self._passes.unfinished() is not None:
                return False
            self._book.begin(erasure, self._clock())
        self._erase_delivered(erasure, erasure.person)
        self._erase_passes(erasure.person)
        sources = self._store.sources(self._schema.name)
        there = frozenset(self._folder.tables())
        unread = [
            source.name
            for source in sources
            if source.name in there
            and not self._erased(
                erasure, erasure.person, source.name, RowTotal(source.rows, source.checksum), why=source.why
            )
        ]  # fmt: skip
        self._book.finish(erasure, unread, self._clock())
        event(
            _log,
            logging.WARNING,
            "a person was taken out of an event log",
            log=self._schema.name,
            erasure=erasure.id,
            unread=len(unread),
        )
        return True

    def _erase_delivered(self, erasure: PersonErasure, person: int) -> None:
        for period in PERIODS:
            delivered = DeliveredTable(self._folder.delivered(period.name), period.column)
            removed = {
                slot: RowTotal(rows.num_rows, checksum_text(rows))
                for slot, rows in delivered.rows_of("person", person)
            }
            self._book.take(erasure, period.name, removed)
            delivered.erase("person", person)

    def _erase_passes(self, person: int) -> None:
        """Take a person out of what passes over days found, and out of side tables."""
        for path in self._folder.of_persons():
            table = read_table(path)
            left = _without(table, person)
            if left.num_rows < table.num_rows:
                write_table(path, left)

    def _erased(
        self, erasure: PersonErasure, person: int, name: str, known: RowTotal, *, why: str
    ) -> bool:
        """Take a person out of a table of five minutes; return whether it can be read."""
        source = self._folder.source(name)
        if self._half_removed(name):
            self._folder.remove(name)
            return True
        try:
            table = read_table(source, arrow_schema(self._schema))
        except TableDamaged:
            return False
        left = _without(table, person)
        if not why:
            self._write_down(erasure, person, name, known, table=table, left=left)
        keys, counts = self._folder.keys(name), self._folder.counts(name)
        gone = table.filter(pc.equal(table.column("person"), person)).column("key")
        if keys.exists():
            history = read_table(keys, KEYS)
            write_table(keys, history.filter(pc.invert(pc.is_in(history.column("key"), gone))))
        if counts.exists():
            write_table(counts, _without(read_table(counts, COUNTS), person))
        checked = self._folder.checked(name)
        if checked.exists():
            write_table(checked, _without(read_table(checked), person))
        if left.num_rows != table.num_rows:
            write_table(source, left)  # the last: who goes on finds in it what the others had
        return True

    def _half_removed(self, name: str) -> bool:
        """Whether a table was being removed when a process was killed: the checked one is gone."""
        return (
            self._store.checked_table(self._schema.name, name) is not None
            and not self._folder.checked(name).exists()
            and not any(name in book.open_tables() for book in self._merges)
        )

    def _write_down(
        self,
        erasure: PersonErasure,
        person: int,
        name: str,
        known: RowTotal,
        *,
        table: pa.Table,
        left: pa.Table,
    ) -> None:
        """Write down what a table has from now on, unless it is.

        Raises:
            TableMismatch: it is not what was written down of it.
        """
        total = RowTotal(left.num_rows, checksum_text(left))
        if total == known:
            return
        if RowTotal(table.num_rows, checksum_text(table)) != known:
            raise TableMismatch(f"{self._folder.source(name)}: has other rows than delivered")
        checked = self._store.checked_table(self._schema.name, name)
        if checked is None:
            totals = NewTotals(
                name=name, removed=table.num_rows - left.num_rows, source=total, checked=None, marked=0, fired={}, shares=()
            )  # fmt: skip
        else:
            rows = read_table(self._folder.checked(name))
            kept = _without(rows, person)
            of_person = rows.filter(pc.equal(rows.column("person"), person))
            fired = Counter(checked.fired)
            fired.subtract(rule_counts(of_person.column(RULES))[1])
            totals = NewTotals(
                name=name,
                removed=table.num_rows - left.num_rows,
                source=total,
                checked=RowTotal(kept.num_rows, checksum_text(kept.select(left.column_names))),
                marked=rule_counts(kept.column(RULES))[0],
                fired={rule: count for rule, count in fired.items() if count > 0},
                shares=shares_of(kept, name),
            )
        self._book.write(erasure, totals)


def _without(table: pa.Table, person: int) -> pa.Table:
    """Return the rows that are not a person's; those of nobody stay."""
    return table.filter(pc.fill_null(pc.not_equal(table.column("person"), person), True))
