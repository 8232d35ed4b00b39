"""A store without its free pages: a copy that takes its place, while nobody writes.

    lock → is there room? → copy the tree into data.mdb.compacting → number its transactions on → is
    it whole? → on the disk → rename over data.mdb → the directory on the disk

Killed anywhere, either file is in place, and both are whole. Readers go on with the old one until
their next read, and then notice. LMDB numbers the transactions of a compacted copy from 1, while
processes that have the store open take the number of the last one from their common lock file, and
from it, odd or even, which of the two meta pages to read. So both meta pages of the copy are
written as the original's last two transactions would have left them; LMDB's data format 1 is what
this knows, and anything else is refused.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final

import lmdb
import msgspec

from oborona import state_files
from oborona.counters.file_check import mark_sound
from oborona.counters.lmdb_store import LEAST_ROOM, MAP_BYTES, MODE, as_store_error, check_version
from oborona.counters.lmdb_write import LmdbWriteEnvironment
from oborona.counters.spool import sync_directory
from oborona.counters.writer import LOG
from oborona.errors import StoreAbsent, StoreBusy, StoreError, StoreFull
from oborona.lock import FileLock, hold

PROGRAM: Final = "oborona counters compact"
META_PAGES: Final = 2
META_AT: Final = 16  # behind the header of its page
# magic, format, address, map, two trees, last page, transaction
META: Final = struct.Struct("=IIQQ48s48sQQ")
META_MAGIC: Final = 0xBEEFC0DE
META_FORMAT: Final = 1


class CompactionResult(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the data file."""

    before: int
    after: int


def compact(directory: Path) -> CompactionResult:
    """Put a copy without free pages in the place of a store.

    Raises:
        StoreBusy: a writer runs; the text names it.
        StoreFull: there is no room for the copy beside the store.
        StoreVersion: a newer Oborona wrote the store.
        StoreError: there is no store, it is damaged, or it cannot be copied; it stays as it is.
    """
    path, copy = directory / state_files.COUNTERS_DATA, directory / state_files.COUNTERS_COMPACTING
    with as_store_error(directory):
        if not path.exists():
            raise StoreAbsent(
                f"no counter store in {directory}: has the writer run?", state_files.COUNTERS
            )
    with _nobody_writes(directory), as_store_error(directory):
        copy.unlink(missing_ok=True)  # of one that was killed
        before = path.stat()
        try:
            _copy(directory, copy, before)
            copy.rename(path)
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
        sync_directory(directory)
        # or the next writer would take it for a copy from elsewhere
        mark_sound(directory, synced=True, failures=0)
        return CompactionResult(before=before.st_size, after=path.stat().st_size)


def _nobody_writes(directory: Path) -> FileLock:
    try:
        return hold(directory / state_files.COUNTERS_LOCK, PROGRAM)
    except StoreBusy as busy:
        raise StoreBusy(
            f"{busy}; stop it first, workers may go on: what they count waits in spools"
        ) from busy


def _copy(directory: Path, copy: Path, original: os.stat_result) -> None:
    store = LmdbWriteEnvironment(directory, MAP_BYTES, sync=True, report=LOG.warning)
    try:
        environment = store.environment
        with environment.begin() as txn:
            if not check_version(txn, directory):
                raise StoreError(f"{directory} holds no counter store of ours")
            tree = txn.stat()
        number = environment.info()["last_txnid"]
        pages = tree["branch_pages"] + tree["leaf_pages"] + tree["overflow_pages"] + META_PAGES
        _check_room(directory, pages * tree["psize"])
        descriptor = os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
        try:
            os.fchown(descriptor, original.st_uid, original.st_gid)
            os.fchmod(descriptor, original.st_mode & 0o777)
            environment.copyfd(descriptor, compact=True)
            _number_on(descriptor, tree["psize"], number)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    finally:
        store.close()
    _check_whole(copy, tree["entries"], number)


def _check_room(directory: Path, needed: int) -> None:
    disk = os.statvfs(directory)
    room = disk.f_bavail * disk.f_frsize
    if room < needed + LEAST_ROOM:
        raise StoreFull(
            f"no room on the disk of {directory} for a copy beside the store:"
            f" {needed + LEAST_ROOM >> 20} MiB needed, {room >> 20} MiB left"
        )


def _number_on(descriptor: int, page_bytes: int, number: int) -> None:
    """Make the copy's meta pages say that its tree is that of transaction `number`, and of the one
    before.
    """
    metas = []
    for page in range(META_PAGES):
        meta = META.unpack(os.pread(descriptor, META.size, page * page_bytes + META_AT))
        if meta[:2] != (META_MAGIC, META_FORMAT):
            raise StoreError(
                f"a copy that LMDB {lmdb.version()} makes is not of the format that is known here"
            )
        metas.append(meta)
    *rest, _number = max(metas, key=lambda meta: meta[-1])
    for file_number in (number - 1, number):
        os.pwrite(
            descriptor,
            META.pack(*rest, file_number),
            file_number % META_PAGES * page_bytes + META_AT,
        )


def _check_whole(copy: Path, entries: int, number: int) -> None:
    """Look at the copy as LMDB does."""
    with lmdb.open(
        os.fspath(copy), subdir=False, readonly=True, lock=False, create=False, readahead=False
    ) as environment:
        counts = environment.stat()["entries"], environment.info()["last_txnid"]
    if counts != (entries, number):
        raise StoreError(
            f"the copy {copy} is not what was copied, {counts} and not {(entries, number)}"
        )
