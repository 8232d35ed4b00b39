"""The tables of readers, kept as ours are: what comes is laid there, what is removed goes.

A table of a reader says of which files of ours it is made, and for which declaration: one that is
made of others is made anew, and after a person was taken out of ours so is each that had them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from oborona.atomic_file import atomic_writer
from oborona.errors import ConfigError, StoreError
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.periods import PERIODS, UNKNOWN
from oborona.eventlog.readers.declared_reader import LogReader, TableKind
from oborona.eventlog.readers.table_mask import TableMask
from oborona.eventlog.schema import LogSchema
from oborona.eventlog.tables.delta import DeliveredTable, plain_texts
from oborona.eventlog.tables.parquet import ROW_GROUP
from oborona.eventlog.tables.table_file import SUFFIX
from oborona.telemetry.log import event

_MADE_OF: Final = b"oborona.made_of"
_MASK: Final = 0o027  # group of the folder reads, nobody else
_OTHERS_WRITE: Final = stat.S_IWOTH

_log = logging.getLogger("oborona.eventlog")


class ReaderTables:
    """Lays the tables of one log for one reader.

    Args:
        reader: who reads them.
        schema: of the log.
        folder: of the log.
        key: of the site's event logs.
    """

    def __init__(self, reader: LogReader, schema: LogSchema, folder: LogFolder, key: bytes) -> None:
        self._reader = reader
        self._log = schema.name
        self._folder = folder
        self._mask = TableMask(reader, schema, key)
        self._known: dict[Path, str] = {}  # what the tables that are there are made of
        self._seen: object = None  # the state of our folders at which all was laid
        self._begun: object = None  # that of which work is under way
        self._work: Iterator[None] | None = None
        self._delivered = {
            TableKind(period.name): DeliveredTable(folder.delivered(period.name), period.column)
            for period in PERIODS
        }
        declared = (self._mask.schema.to_string(), reader.name)
        self._declared = hashlib.blake2b(repr(declared).encode(), digest_size=8).hexdigest()

    def step(self) -> bool:
        """Lay or remove a table; return whether there was one.

        Raises:
            ConfigError: the reader's folder is not there, or others may write to it.
            StoreError: a table can't be read or written.
        """
        if self._work is None:
            self._begun = [self._changed(kind) for kind in self._reader.tables]
            if self._begun == self._seen:
                return False
            self._check_folder()
            self._work = self._changes()
        try:
            next(self._work)
        except StopIteration:
            self._work, self._seen = None, self._begun
            return False
        except BaseException:
            self._work = None  # begins anew: our tables may have changed meanwhile
            raise
        return True

    def _changes(self) -> Iterator[None]:
        """Lay or remove what is due, and stop after each table."""
        for kind in self._reader.tables:
            if self._seen is None:
                self._sweep(kind)
            wanted = self._wanted(kind)
            there = self._there(kind)
            for path in there.keys() - wanted.keys():
                self._remove(path)
                yield
            for path, files in wanted.items():
                made_of = self._made_of(files)
                if there.get(path) != made_of:
                    self._lay(path, files, made_of)
                    yield

    def _sweep(self, kind: TableKind) -> None:
        """Remove what a process left that was killed while it wrote: rows of persons among it."""
        folder = self._own(kind)
        with _told(folder):
            for path in folder.glob(f".*{SUFFIX}.*"):
                path.unlink()

    def _changed(self, kind: TableKind) -> object:
        """Return what is another whenever our tables of a kind are."""
        folder = self._folder.delivered(kind) / "_delta_log"
        if kind is TableKind.STREAM:
            folder = self._folder.checked_folder
        try:
            return folder.stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def _wanted(self, kind: TableKind) -> dict[Path, list[Path]]:
        """Return the tables that the reader is to have, each with the files of ours."""
        own = self._own(kind)
        if kind is TableKind.STREAM:
            return {
                own / path.name: [path]
                for path in sorted(self._folder.checked_folder.iterdir())
                if path.suffix == SUFFIX and not path.name.startswith(".")
            }
        return {
            own / f"{slot}{SUFFIX}": list(map(Path, files))
            for slot, files in self._delivered[kind].files_of_all().items()
            if slot != UNKNOWN
        }

    def _own(self, kind: TableKind) -> Path:
        return self._reader.folder / self._log / kind

    def _there(self, kind: TableKind) -> Mapping[Path, str]:
        """Return the reader's tables, each with what it is made of."""
        folder = self._own(kind)
        with _told(folder):
            if not folder.is_dir():
                return {}
            paths = [path for path in sorted(folder.iterdir()) if path.suffix == SUFFIX]
        for path in paths:
            if path not in self._known:
                self._known[path] = _label(path)
        return {path: self._known[path] for path in paths}

    def _made_of(self, files: Sequence[Path]) -> str:
        """Return a text that is another for other files of ours, and for another declaration."""
        told = [self._declared]
        for file in files:
            with _told(file):
                found = file.stat()
            told.append(f"{file.name} {found.st_size} {found.st_mtime_ns} {found.st_ino}")
        return hashlib.blake2b("\n".join(told).encode(), digest_size=16).hexdigest()

    def _lay(self, path: Path, files: Sequence[Path], made_of: str) -> None:
        schema = self._mask.schema.with_metadata({_MADE_OF: made_of.encode()})
        before = os.umask(_MASK)
        try:
            with _told(path.parent):
                path.parent.mkdir(parents=True, exist_ok=True)
            with (
                atomic_writer(path) as target,
                pq.ParquetWriter(target, schema, compression="zstd") as writer,
            ):
                for rows in _pieces(files):
                    writer.write_table(self._mask.masked(rows).cast(schema))
        finally:
            os.umask(before)
        self._known[path] = made_of

    def _remove(self, path: Path) -> None:
        with _told(path):
            path.unlink(missing_ok=True)
        self._known.pop(path, None)
        event(_log, logging.DEBUG, "a table of a reader is removed", log=self._log, table=path.name)

    def _check_folder(self) -> None:
        folder = self._reader.folder
        try:
            found = folder.stat()
        except OSError as error:
            raise ConfigError(
                f"the folder of the reader {self._reader.name}, {folder}: {error.strerror}; make it "
                f"as root: install -d -o oborona -g GROUP -m 2750 {folder}"
            ) from error
        if found.st_mode & _OTHERS_WRITE:
            raise ConfigError(f"anybody may write to the folder of a reader, {folder}")


def _label(path: Path) -> str:
    """Return what a table says that it is made of; empty where it says nothing."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return ""
    label: bytes = metadata.get(_MADE_OF, b"")
    return label.decode("ascii", "replace")


def _pieces(files: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the rows of files, some at a time."""
    for path in files:
        with _told(path), pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROW_GROUP):
                yield plain_texts(pa.Table.from_batches([batch]))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    except pa.ArrowException as error:
        raise StoreError(f"{path}: {str(error).splitlines()[0][:300]}") from error
