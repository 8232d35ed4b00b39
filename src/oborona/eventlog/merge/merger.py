"""Rows of checked tables, laid by the time of events into half hours and days.

    ready     no checked table has brought rows of a slot for an hour
    begin     which rows of which tables are appended is written down
    append    all of them, in one commit of the table, under the number of the merge
    compare   the rows that came must be those that were checked, by number and checksum, and each
              slot must have as many as its tables gave
    finish    they are written down as merged

Who is killed goes on: whether the rows are there is asked of the table itself, by the number of the
merge, and then every slot is read and compared whole. A slot that is not what it must be is
written anew from the checked tables, and compared again; where one of them is gone the merge
waits, and is told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from oborona.errors import StoreError
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.merge.book import MergeBook, SlotMerge
from oborona.eventlog.periods import PERIODS, Period, slots_of
from oborona.eventlog.tables.delta import REVISION, DeliveredTable
from oborona.eventlog.tables.parquet import read_table
from oborona.eventlog.tables.table_file import TableMismatch
from oborona.telemetry.log import event

MOST_TABLES: Final = 24  # of a merge: two hours of tables are in memory at once

_log = logging.getLogger("oborona.eventlog")


class LogMerger:
    """Merges the checked tables of one log.

    Args:
        log: its name.
        folder: where its tables lie.
        store: what is known of it.
        ready_s: seconds after which nothing more is expected for a slot.
        clock: Unix seconds.
    """

    def __init__(
        self,
        log: str,
        folder: LogFolder,
        store: LogStore,
        *,
        ready_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._ready_s = ready_s
        self._clock = clock
        self._periods = [
            (
                period,
                MergeBook(store, log, period.name),
                DeliveredTable(folder.delivered(period.name), period.column),
            )
            for period in PERIODS
        ]

    def step(self) -> bool:
        """Append what is ready of one period; return whether there was any.

        Raises:
            TableMismatch: a slot is not what it must be and can't be written anew.
            StoreError: a table can't be read or written; the merge stays open.
        """
        for period, book, delivered in self._periods:
            merge = book.unfinished()
            if merge is None:
                slots = book.ready(self._clock() - self._ready_s, MOST_TABLES)
                merge = book.begin(slots, self._clock()) if slots else None
            if merge is not None:
                self._merge(period, book, delivered, merge)
                return True
        return False

    def _merge(
        self, period: Period, book: MergeBook, delivered: DeliveredTable, merge: SlotMerge
    ) -> None:
        wanted = book.total(merge.slots)
        if delivered.last() >= merge.id:
            wrong = self._wrong(book, delivered, merge, merge.slots)
        else:
            before = delivered.files()
            delivered.append(merge.id, self._rows(period, merge.slots))
            came = delivered.total(delivered.files() - before)
            counts = delivered.counts()
            slots = {slot: book.names(merge, slot) for slot in merge.slots}
            wrong = [
                slot
                for slot, names in slots.items()
                if came != wanted or counts.get(slot, 0) != book.total({slot: names}).rows
            ]
        if wrong:
            self._repair(period, book, delivered, merge, wrong)
        book.finish(merge, wanted.rows, wrong, self._clock())

    def _rows(self, period: Period, slots: Mapping[str, Sequence[str]]) -> pa.Table:
        """Return rows of checked tables with the column of their slot."""
        parts = []
        for name in sorted({name for names in slots.values() for name in names}):
            table = read_table(self._folder.checked(name))
            of_row = np.array(slots_of(table, name, period), object)
            asked = [slot for slot, names in slots.items() if name in names]
            keep = np.isin(of_row, asked)
            part = table.filter(pa.array(keep, pa.bool_()))
            parts.append(part.append_column(period.column, pa.array(of_row[keep], pa.string())))
        return pa.concat_tables(parts)

    def _wrong(
        self,
        book: MergeBook,
        delivered: DeliveredTable,
        merge: SlotMerge,
        slots: Iterable[str],
    ) -> list[str]:
        """Return the slots that, read whole, are not what their tables gave and passes changed."""
        revised = delivered.last(REVISION)
        return [
            slot
            for slot in slots
            if delivered.total(delivered.files(slot))
            != book.total({slot: book.names(merge, slot)}, revised)
        ]

    def _repair(
        self,
        period: Period,
        book: MergeBook,
        delivered: DeliveredTable,
        merge: SlotMerge,
        wrong: Sequence[str],
    ) -> None:
        """Write slots anew from the checked tables.

        Raises:
            TableMismatch: they are not what they must be after that.
        """
        for slot in wrong:
            names = book.names(merge, slot)
            event(
                _log,
                logging.ERROR,
                "a slot of events is not what its tables gave, and is written anew",
                log=merge.log,
                table=period.name,
                slot=slot,
                rows=delivered.counts().get(slot, 0),
                given=book.total({slot: names}).rows,
            )
            try:
                rows = self._rows(period, {slot: names})
            except StoreError as error:
                raise TableMismatch(
                    f"{delivered.path}: slot {slot} is not what its tables gave, and can't be "
                    f"written anew: {error}"
                ) from error
            delivered.replace(merge.id, slot, rows)
            book.forget_revisions(slot)
        still = self._wrong(book, delivered, merge, dict.fromkeys(wrong, ()))
        if still:
            raise TableMismatch(f"{delivered.path}: slot {still[0]} is not what its tables gave")
