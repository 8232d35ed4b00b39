"""Events that came by HTTP, a table for those of each slot of five minutes.

    gather  once a slot is over its files are moved into a folder of the table's name
    make    the table is written, then written down: `SLOT.http`, and `SLOT.http-2` where more of
            the slot came later, or are too many for one
    remove  its files go once it is checked

A process that is killed anywhere goes on with the folders that are there. An event whose id came by
HTTP within a day before is not taken again; where the log declares no id it is the batch and the
place in it. A table that was set aside is made once more of its files, as `SLOT.http-again`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from oborona.atomic_file import sync_folder, write_atomically
from oborona.errors import StoreError
from oborona.eventlog.batch.store import LogStore, SourceTable
from oborona.eventlog.declared_log import DeclaredLog
from oborona.eventlog.event_spool import SUFFIX, SpooledBatch
from oborona.eventlog.export.record_shaper import RecordShaper
from oborona.eventlog.export.records import UnreadableFile, read_records
from oborona.eventlog.export.repeated_events import without_repeated
from oborona.eventlog.export.row_gatherer import RowGatherer
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.slots import DAY_S, SLOT_S, delivered_at, slot_name, slot_start
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import write_table
from oborona.telemetry.log import event

WORD: Final = "http"
AGAIN: Final = "-again"
UNREAD: Final = ".unread"
MOST_OCTETS: Final = 1 << 28  # of the files of a table
SETTLE_S: Final = 10.0  # so long after its end a batch of a slot may still be written
LEFT_S: Final = 3600.0  # a file that is being written for so long has nobody who writes it
ASIDE_S: Final = 2 * DAY_S  # that files stay of a table that was set aside twice

# a file that somebody drops as http.jsonl has eight hexadecimal digits behind it
_OURS: Final = re.compile(rf".+\.{WORD}(-\d{{1,6}})?({AGAIN})?", re.ASCII)

_log = logging.getLogger("oborona.eventlog")


class ReceivedEvents:
    """Takes the events of one log.

    Args:
        log: as declared.
        spool: folder of what came for it; it need not be there.
        folder: where its tables lie.
        store: what is known of it.
        hasher: of persons, events and texts.
        most_rows: of a table; one batch may have more.
        clock: Unix seconds.
    """

    def __init__(
        self,
        log: DeclaredLog,
        spool: Path,
        folder: LogFolder,
        store: LogStore,
        hasher: EventHasher,
        *,
        most_rows: int,
        clock: Callable[[], float],
    ) -> None:
        self._log = log
        self._spool = spool
        self._folder = folder
        self._store = store
        self._hasher = hasher
        self._most_rows = most_rows
        self._clock = clock

    def step(self) -> bool:
        """Make one table, or remove the files of one; return whether there was something to do.

        Raises:
            StoreError: a file can't be read, written or moved; what came waits.
        """
        if not self._spool.is_dir():
            return False
        try:
            return any(map(self._go_on, self._begun())) or self._gather()
        except OSError as error:
            raise StoreError(f"{error.filename or self._spool}: {error.strerror}") from error

    def _begun(self) -> Iterator[Path]:
        """Yield the folders of tables, in the order of their names."""
        for path in sorted(self._spool.iterdir()):
            with suppress(ValueError):
                delivered_at(path.name)
                yield path

    def _go_on(self, part: Path) -> bool:
        """Do what is next for a table that was begun; return whether there was something."""
        log, name = self._log.schema.name, part.name
        source = self._store.source(log, name)
        if source is None:
            self._make(part)
        elif source.why and not name.endswith(AGAIN):
            part.rename(part.with_name(name + AGAIN))
        elif (
            self._clock() - source.delivered >= ASIDE_S
            if source.why
            else self._store.checked_table(log, name) is not None
        ):
            _remove(part)
        else:
            return False
        return True

    def _gather(self) -> bool:
        """Move the files of the first slot that is over to where its table is made."""
        now = self._clock()
        slots: dict[int, list[SpooledBatch]] = {}
        for path in sorted(self._spool.iterdir()):
            batch = SpooledBatch.of(path.name)
            if batch is not None:
                slots.setdefault(_slot(batch, now), []).append(batch)
            elif path.name.startswith(".") and now - path.stat().st_mtime > LEFT_S:
                path.unlink()
        first = min(slots, default=None)
        if first is None or now < first + SLOT_S + SETTLE_S:
            return False
        part = self._spool / self._free_name(first)
        part.mkdir(mode=0o700)
        for batch in self._some(slots[first]):
            (self._spool / batch.name).rename(part / batch.name)
        sync_folder(part)
        sync_folder(self._spool)
        self._make(part)
        return True

    def _some(self, batches: list[SpooledBatch]) -> Iterator[SpooledBatch]:
        """Yield as many batches as a table may have."""
        rows = octets = 0
        for batch in batches:
            rows += batch.rows
            octets += (self._spool / batch.name).stat().st_size
            if rows > batch.rows and (rows > self._most_rows or octets > MOST_OCTETS):
                return
            yield batch

    def _free_name(self, slot: int) -> str:
        """Return the first name of a table of a slot that none has."""
        log = self._log.schema.name
        names = (f"{slot_name(slot)}.{WORD}{f'-{n}' if n > 1 else ''}" for n in count(1))
        return next(
            name
            for name in names
            if self._store.source(log, name) is None and not (self._spool / name).exists()
        )

    def _make(self, part: Path) -> None:
        """Make a table of the files of a folder; of none, and of rows that came before, none."""
        log, name = self._log.schema.name, part.name
        rows = RowGatherer(self._log.schema)
        for path in sorted(part.glob(f"*{SUFFIX}")):
            self._read(path, rows)
        gathered = rows.table()
        table = without_repeated(gathered, self._earlier())
        repeated = gathered.num_rows - table.num_rows
        if repeated:
            event(
                _log,
                logging.INFO,
                "events that came before are not taken again",
                log=log,
                table=name,
                rows=repeated,
            )
        if rows.broken:
            write_atomically(self._folder.aside(name), b"".join(rows.broken))
            event(
                _log,
                logging.WARNING,
                "events that came by HTTP are left out",
                log=log,
                table=name,
                rows=len(rows.broken),
                kept=self._folder.aside(name),
            )
        if not table.num_rows:
            _remove(part)
            return
        write_table(self._folder.source(name), table)
        self._store.deliver(
            log,
            SourceTable(
                name=name,
                delivered=self._clock(),
                rows=table.num_rows,
                checksum=checksum_text(table),
            ),
        )

    def _read(self, path: Path, rows: RowGatherer) -> None:
        batch = SpooledBatch.of(path.name)
        if batch is None:
            return
        shaper = RecordShaper(self._log, self._hasher, batch.ident)
        try:
            rows.take(shaper, read_records(path, tuple(self._log.source), batch.rows))
        except UnreadableFile as error:
            left = self._spool / f"{path.name}{UNREAD}"
            path.rename(left)
            event(
                _log,
                logging.ERROR,
                "events that came by HTTP can't be read",
                log=self._log.schema.name,
                file=left,
                why=error,
            )

    def _earlier(self) -> Iterator[Path]:
        """Yield the tables of the last day that came by HTTP."""
        since = self._clock() - DAY_S - SLOT_S
        for source in self._store.sources(self._log.schema.name, since=since):
            path = self._folder.source(source.name)
            if _OURS.fullmatch(source.name) and not source.why and path.exists():
                yield path


def _slot(batch: SpooledBatch, now: float) -> int:
    """Return the slot of a batch; of one that came while the clock was ahead the last one."""
    slot = slot_start(batch.came)
    return slot if slot <= slot_start(now) + SLOT_S else slot_start(now - SETTLE_S) - SLOT_S


def _remove(part: Path) -> None:
    """Remove the files of a table, and their folder."""
    for path in part.iterdir():
        path.unlink()
    part.rmdir()
