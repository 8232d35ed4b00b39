"""Cuts a log of our own into a table for each slot of five minutes.

A slot is closed some seconds after its end. Its table holds the events that were written down by
then and are in no table yet, in order of place; one without events is empty: absence is a fault,
emptiness is none. The file is there first, then the table and the place are written down in one
transaction: a process that is killed between the two writes the same slot again.

The clock decides when a slot is closed, and nothing else. Where it is set back, the next slot
waits; where it was ahead, the slots until then are closed already.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from oborona.eventlog.batch.store import FollowedLog, LogStore, SourceTable
from oborona.eventlog.export.own_log import OwnLog
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.slots import SLOT_S, slot_name, slot_start
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import write_table
from oborona.telemetry.log import event

SETTLE_S: Final = 10.0
"""So long after its end a slot is open: who writes an event takes its time before it waits for
others that write, at most five seconds.
"""

_log = logging.getLogger("oborona.eventlog")


class LogExporter:
    """Exports one log.

    Args:
        source: the log.
        folder: where its tables lie.
        store: what is known of it.
        back_s: how far back a log is taken when it is exported first, in seconds.
        clock: Unix seconds.
    """

    def __init__(
        self,
        source: OwnLog,
        folder: LogFolder,
        store: LogStore,
        *,
        back_s: float,
        clock: Callable[[], float],
    ) -> None:
        self.source = source
        self._folder = folder
        self._store = store
        self._back_s = back_s
        self._clock = clock

    def step(self) -> bool:
        """Close one slot; return whether one was due.

        Raises:
            StoreError: the log can't be read, or the table not written; the slot stays open.
        """
        log = self.source.schema.name
        now = self._clock()
        followed = self._followed(now)
        end = followed.slot + SLOT_S
        if now < end + SETTLE_S:
            return False
        last = self.source.last_place(followed.place, end)
        table = self.source.table(followed.place, last)
        name = slot_name(followed.slot)
        write_table(self._folder.source(name), table)
        with self._store.transaction():
            self._store.deliver(
                log,
                SourceTable(
                    name=name, delivered=now, rows=table.num_rows, checksum=checksum_text(table)
                ),
            )
            self._store.follow(log, FollowedLog(last, end, followed.origin))
        return True

    def _followed(self, now: float) -> FollowedLog:
        """Return how far the log was exported; where it begins, if it was not, or begins anew."""
        log = self.source.schema.name
        origin = self.source.origin()
        followed = self._store.followed(log)
        if followed is None:
            start = slot_start(now - self._back_s)
            return FollowedLog(self.source.last_place(0, start), start, origin)
        if origin and followed.origin and origin != followed.origin:
            event(_log, logging.WARNING, "a log begins anew: its store is another one", log=log)
            return FollowedLog(0, followed.slot, origin)
        return FollowedLog(followed.place, followed.slot, origin or followed.origin)
