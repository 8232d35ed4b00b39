"""Files that others drop into the folder of a log, each taken as a table, once.

    met    its name, size and time of change are written down, with the name of its table
    taken  the table's file is there; it and this are written down in one transaction

A file is given under a name that begins with a point, and renamed when it is whole; one that
changed within the last seconds is let lie. A file whose name is that of a slot (or of a slot, a
point and a word) gives its table this name; any other the slot in which it was met. It stays where
it is. The same file again, with the same rows, is no second table; with others it is set aside, as
is one that can't be read, or over which the process ended twenty times. Of a file that can be read
rows that can't be used are left out, each with its reason in `aside`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from typing import Final

import msgspec
import pyarrow as pa
import xxhash

from oborona.atomic_file import write_atomically
from oborona.errors import StoreError
from oborona.eventlog.batch.store import DroppedFile, DropState, LogStore, SourceTable
from oborona.eventlog.declared_log import DeclaredLog
from oborona.eventlog.export.record_shaper import RecordShaper
from oborona.eventlog.export.records import READERS, UnreadableFile, read_records
from oborona.eventlog.export.row_gatherer import RowGatherer, shown_text
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.slots import DAY_S, delivered_at, slot_name, slot_start
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import write_table
from oborona.telemetry.log import event

SETTLE_S: Final = 5.0
"""A file that changed within so many seconds may be half written."""
MOST_TRIES: Final = 20
"""A file over which the process ended so often is what ends it; others are taken before it."""
_WORD: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST: Final = 80

_log = logging.getLogger("oborona.eventlog")


class DroppedFiles:
    """Takes the files of one log.

    Args:
        log: as declared.
        folder: where its tables lie.
        store: what is known of it.
        hasher: of persons, events and texts.
        most_rows: of a file.
        clock: Unix seconds.
    """

    def __init__(
        self,
        log: DeclaredLog,
        folder: LogFolder,
        store: LogStore,
        hasher: EventHasher,
        *,
        most_rows: int,
        clock: Callable[[], float],
    ) -> None:
        self.log = log
        self._folder = folder
        self._store = store
        self._hasher = hasher
        self._most_rows = most_rows
        self._clock = clock
        self._begun = set[str]()

    def step(self) -> bool:
        """Take the first file that is new; return whether there was one.

        Raises:
            StoreError: the folder can't be read, or the table not written; the file waits.
        """
        known = self._store.files(self.log.schema.name)
        met = {name: file.tries for name, file in known.items() if file.state is DropState.MET}
        for path in sorted(self._paths(), key=lambda path: met.get(shown_text(path.name), 0)):
            before = known.get(shown_text(path.name))
            file = self._new(path, before)
            if file is not None:
                self._store.note_file(self.log.schema.name, file)
                self._begun.add(path.name)
                self._take(path, file)
                self._begun.discard(path.name)
                return True
        return False

    def _paths(self) -> list[Path]:
        if self.log.folder is None:
            return []
        try:
            return sorted(
                path
                for path in self.log.folder.iterdir()
                if path.suffix.lower() in READERS and not path.name.startswith(".")
            )
        except OSError as error:
            raise StoreError(f"{self.log.folder}: {error.strerror}") from error

    def _new(self, path: Path, before: DroppedFile | None) -> DroppedFile | None:
        """Return a file that is to be taken; None of one that is, or may be half written."""
        try:
            status = path.stat()
        except OSError:  # taken away meanwhile
            return None
        now = self._clock()
        if not S_ISREG(status.st_mode) or now - status.st_mtime < SETTLE_S:
            return None
        size, changed = status.st_size, status.st_mtime_ns
        if before is None:
            name = _table_name(path, now)
            shown = shown_text(path.name)
            return DroppedFile(file=shown, size=size, changed=changed, seen=now, name=name, tries=1)
        if (before.size, before.changed) == (size, changed):
            if before.state is not DropState.MET:
                return None
            again = path.name in self._begun  # and this process is there yet
            return msgspec.structs.replace(before, tries=before.tries + (not again))
        return msgspec.structs.replace(
            before, size=size, changed=changed, state=DropState.MET, why="", broken=0, tries=1
        )

    def _take(self, path: Path, file: DroppedFile) -> None:
        """Make a table of a file; write down what became of it."""
        log = self.log.schema.name
        if file.tries > MOST_TRIES:
            self._set_aside(file, f"the process ended {MOST_TRIES} times while it read it")
            return
        try:
            table, broken = self._read(path, file.name)
        except UnreadableFile as error:
            self._set_aside(file, str(error))
            return
        source = SourceTable(
            name=file.name,
            delivered=self._clock(),
            rows=table.num_rows,
            checksum=checksum_text(table),
        )
        there = self._store.source(log, file.name)
        if there is not None:
            self._note_again(file, there, source)
            return
        if broken:
            write_atomically(self._folder.aside(file.name), b"".join(broken))
            event(
                _log,
                logging.WARNING,
                "rows of a dropped file are left out",
                log=log,
                file=file.file,
                rows=len(broken),
                kept=self._folder.aside(file.name),
            )
        write_table(self._folder.source(file.name), table)
        with self._store.transaction():
            self._store.deliver(log, source)
            taken = msgspec.structs.replace(file, state=DropState.TAKEN, broken=len(broken))
            self._store.note_file(log, taken)

    def _note_again(self, file: DroppedFile, there: SourceTable, source: SourceTable) -> None:
        if (there.rows, there.checksum) != (source.rows, source.checksum):
            self._set_aside(file, f"the table {file.name} is there already, with other rows")
            return
        again = msgspec.structs.replace(file, state=DropState.AGAIN)
        self._store.note_file(self.log.schema.name, again)

    def _set_aside(self, file: DroppedFile, why: str) -> None:
        log, why = self.log.schema.name, shown_text(why)
        self._store.note_file(log, msgspec.structs.replace(file, state=DropState.ASIDE, why=why))
        event(_log, logging.ERROR, "dropped file set aside", log=log, file=file.file, why=why)

    def _read(self, path: Path, name: str) -> tuple[pa.Table, list[bytes]]:
        """Return the rows of a file, and why others can't be used, as JSON lines."""
        if delivered_at(name) > self._clock() + DAY_S:
            raise UnreadableFile("its name is that of a slot more than a day ahead")
        rows = RowGatherer(self.log.schema)
        shaper = RecordShaper(self.log, self._hasher, name)
        rows.take(shaper, read_records(path, tuple(self.log.source), self._most_rows))
        table, broken = rows.table(), rows.broken
        if broken and not table.num_rows:
            first = broken[0].decode()[:300].strip()
            raise UnreadableFile(f"none of its {len(broken)} records can be used: {first}")
        return table, broken


def _table_name(path: Path, now: float) -> str:
    """Return the name of a file's table: its own where that is one."""
    try:
        delivered_at(path.stem)
    except ValueError:
        word = _WORD.sub("-", path.stem)[:_LONGEST].strip("-_") or "file"
        apart = xxhash.xxh3_64_hexdigest(path.name.encode("utf-8", "surrogateescape"))[:8]
        return f"{slot_name(slot_start(now))}.{word}-{apart}"
    return path.stem
