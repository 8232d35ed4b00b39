"""Empty tables of a log of ours that comes by the spool: one for each slot in which nothing came.

Absence is a fault, emptiness is none: who reads tables, and who watches for silence, can tell a
quiet night from a log that stands still. It goes behind what makes tables of the spool.
"""

from __future__ import annotations

from collections.abc import Callable

from oborona.eventlog.batch.store import FollowedLog, LogStore, SourceTable
from oborona.eventlog.export.own_log import event_table
from oborona.eventlog.export.received_events import SETTLE_S, WORD
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.schema import LogSchema
from oborona.eventlog.slots import SLOT_S, slot_name, slot_start
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import write_table


class EmptySlots:
    """Writes the empty tables of one log.

    Args:
        schema: of the log.
        folder: where its tables lie.
        store: what is known of it.
        clock: Unix seconds.
    """

    def __init__(
        self, schema: LogSchema, folder: LogFolder, store: LogStore, *, clock: Callable[[], float]
    ) -> None:
        self._schema = schema
        self._folder = folder
        self._store = store
        self._clock = clock

    def step(self) -> bool:
        """Close one slot; return whether one was due.

        Raises:
            StoreError: the table can't be written; the slot stays open.
        """
        log, now = self._schema.name, self._clock()
        followed = self._store.followed(log)
        if followed is None:  # the log begins with the slot before: it is seen to be there
            followed = FollowedLog(0, slot_start(now) - SLOT_S, "")
            self._store.follow(log, followed)
        end = followed.slot + SLOT_S
        if now < end + SETTLE_S:
            return False
        name = slot_name(followed.slot)
        table = event_table([], self._schema)
        with self._store.transaction():
            if self._store.source(log, f"{name}.{WORD}") is None:
                write_table(self._folder.source(name), table)
                self._store.deliver(
                    log,
                    SourceTable(name=name, delivered=now, rows=0, checksum=checksum_text(table)),
                )
            self._store.follow(log, FollowedLog(0, end, ""))
        return True
