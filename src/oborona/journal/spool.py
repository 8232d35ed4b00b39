"""The journal's spool: rows that a process has accepted and that are not in SQLite yet, in a file
of the process's own.

    <folder>/<pid>.<session>.<number>.spool    as the counters' (`counters.spool`), locked while the
                                               process lives

One `write` a row, before the mail server is answered: a written row survives the death of the
process.  The process itself writes its rows into SQLite from memory and then drops the file, so
normally nothing is read back, and little of it reaches the disk.  The spool of a dead process is
taken over by any other process that writes the journal; entries are identified by their ids, so a
row that is written twice counts once.

Nothing is synced: a power failure loses what SQLite had not synced either (`journal.schema`).
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona.counters.spool import UNNAMED, CounterSpool, SpoolFile, parse_name
from oborona.errors import StoreError, StoreFull
from oborona.journal.spool_record import Spooled, decode_all, encode

FILE_BYTES: Final = 4 << 20  # a thousand messages; removed as a whole
MOST_BYTES: Final = 512 << 20  # of all processes, those that died included

_log = logging.getLogger("oborona.journal")


class JournalSpool:
    """The spool of one process; made with its first row.

    Args:
        folder: of all of them; made when missing.
        most_bytes: that the files of all processes may take.
    """

    def __init__(
        self, folder: Path, *, file_bytes: int = FILE_BYTES, most_bytes: int = MOST_BYTES
    ) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._spool = CounterSpool(folder, str(os.getpid()), sync_s=None, file_bytes=file_bytes)

    @property
    def number(self) -> int:
        """The file that was last appended to; 0 before the first."""
        return self._spool.number

    def append(self, row: Spooled) -> int:
        """Write a row; return the number of the file that has it.

        Raises:
            StoreFull: no room, or no more is allowed; a later try may succeed.
            StoreError: the file can't be written.
            Exception: the row is not what its types say: our own bug.
        """
        record = encode(row)
        if self._spool.begins_file and _size(self._folder) >= self._most_bytes:
            raise StoreFull(f"{self._folder} has grown to {self._most_bytes >> 20} MiB")
        self._spool.append(record)
        return self._spool.number

    def written(self, before: int | None) -> None:
        """Drop what SQLite has: files below a number; None = all.

        Raises:
            StoreError: a file can't be removed; a later call tries again.
        """
        if before is None:
            self._spool.drop_all()
        else:
            self._spool.drop(before)

    def close(self, *, written: bool) -> None:
        """Let the files go: SQLite has all, or who follows takes over.

        Raises:
            StoreError: a file can't be removed; who follows finds it.
        """
        if written:
            self._spool.discard()
        else:
            self._spool.close()


class OrphanSpool:
    """A file whose process is dead; ours until it is removed or closed.

    Args:
        path: of the file.
        descriptor: open, locked by us.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._damaged = False

    def rows(self) -> list[Spooled]:
        """Return the rows that are whole; what is not is told in the log.

        Raises:
            StoreError: it can't be read.
        """
        try:
            size = os.fstat(self._descriptor).st_size
            data = os.pread(self._descriptor, size, 0)
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {error}") from error
        records, unread = decode_all(data)
        for gap in unread:
            if gap.torn:
                _log.warning(
                    "journal: %s: its last %d bytes are no whole record and are cut: it was being "
                    "written"
                    " when its process died, and nobody was answered",
                    self.path.name,
                    gap.size,
                )
            else:
                self._damaged = True
                _log.error(
                    (
                        "journal: %s: %d bytes at %d are no record (%s); the file is set "
                        "aside, those behind them are taken"
                    ),
                    self.path.name,
                    gap.size,
                    gap.offset,
                    gap.why,
                )
        return records

    def remove(self) -> None:
        """Remove the file, once SQLite has its rows.

        One that is damaged is kept under another name.

        Raises:
            StoreError: it can't be.
        """
        try:
            if self._damaged:
                stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
                self.path.rename(self.path.with_name(f"{self.path.name}.damaged-{stamp}"))
            else:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove {self.path}: {error}") from error

    def close(self) -> None:
        """Let the file go."""
        os.close(self._descriptor)


def orphan_spools(folder: Path) -> Iterator[OrphanSpool]:
    """Yield the files of dead processes, the oldest of each first; the caller closes them.

    Raises:
        StoreError: the folder can't be read; or, behind all others, a file can't.
    """
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - of names alone, once a second
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"cannot read {folder}: {error}") from error
    by_owner: dict[str, list[SpoolFile]] = {}
    for name in names:
        file = parse_name(name)
        if file is not None:
            by_owner.setdefault(file.owner, []).append(file)
        elif name.endswith(UNNAMED) and (unborn := _locked(folder / name)) is not None:
            (folder / name).unlink(missing_ok=True)  # its process died while it made it
            os.close(unborn)
    # another user's, who ran a command of ours: it holds nobody else's up
    unreadable: StoreError | None = None
    for files in by_owner.values():
        try:
            yield from _left_by_one(folder, files)
        except StoreError as error:
            unreadable = unreadable or error
    if unreadable is not None:
        raise unreadable


def _left_by_one(folder: Path, files: Sequence[SpoolFile]) -> Iterator[OrphanSpool]:
    last = _locked(folder / files[-1].name)
    if last is None:  # its process lives, or another takes it over
        return
    ours = True  # to let go of, until it is the caller's
    try:
        following = msgspec.structs.replace(files[-1], number=files[-1].number + 1)
        if (folder / following.name).exists():  # it lives, and went on in another file as we looked
            return
        for file in files[:-1]:
            path = folder / file.name
            descriptor = _locked(path)
            if descriptor is not None:
                yield OrphanSpool(path, descriptor)
        ours = False
        yield OrphanSpool(folder / files[-1].name, last)
    finally:
        if ours:
            os.close(last)


def _locked(path: Path) -> int | None:
    """Return a file, open and locked by us; None where it is another's, or gone.

    Raises:
        StoreError: it can't be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _size(folder: Path) -> int:
    """Return the bytes of all files of a folder; some may go meanwhile."""
    size = 0
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                size += path.stat().st_size
    return size
