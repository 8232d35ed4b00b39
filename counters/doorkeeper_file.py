r"""The doorkeeper's table as a file beside the store, that the writer changes and every reader
maps.

    4096 bytes   magic "OBDK", version, sets, identity; little-endian
    the slots    `doorkeeper.py`

    \0doorkeeper        identity and sets of the table that belongs to this store
    \0doorkeeper/<n>    changes of the n-th transaction since the table was last brought to the disk

A transaction carries its changes as a note; the table is changed when it is committed. So whatever
is killed when, and whatever of the mapped file a power failure leaves, making the noted changes
again gives the table that belongs to the store. Notes are dropped once the file is on the disk. A
reader's snapshot and the table are not of one moment: a read during a commit may miss a sighting,
or count one twice.

A table that does not belong to the store (another size, another store, damaged) is begun anew: what
was seen once counts as never seen.
"""

from __future__ import annotations

import errno
import os
import secrets
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import lmdb
import numpy as np

from oborona import state_files
from oborona.counters import doorkeeper
from oborona.counters.doorkeeper import SLOT_BYTES, WAYS, SlotChanges, Slots
from oborona.counters.lmdb_store import DOORKEEPER_CHANGES_KEY, DOORKEEPER_KEY, LEAST_ROOM, MODE

MAGIC: Final = b"OBDK"
VERSION: Final = 1
HEADER: Final = struct.Struct("<4sIQQ")  # magic, version, sets, identity
NOTE: Final = struct.Struct("<QQ")  # identity, sets
NUMBER: Final = struct.Struct(">Q")
HEADER_BYTES: Final = 4096
SET_BYTES: Final = WAYS * SLOT_BYTES
# notes of so many seconds are kept: 2 MB a second at the highest rates measured
SYNC_S: Final = 20.0


class DoorkeeperWriter:
    """The writer's side of a table.

    Args:
        directory: the store's.
        size: of the table in bytes; rounded down to a power of two.
        txn: a write transaction on the store, which takes note of the table.
        report: told, in words for an admin, when sightings are lost.

    Raises:
        OSError: the file can't be made or mapped.
        ValueError: the size is under one set or above 16 GiB.
    """

    def __init__(
        self,
        directory: Path,
        size: int,
        txn: lmdb.Transaction[bytes],
        report: Callable[[str], None],
    ) -> None:
        if not SET_BYTES <= size <= doorkeeper.MOST_BYTES:
            raise ValueError(
                f"a table has {SET_BYTES} to {doorkeeper.MOST_BYTES} bytes, not {size}"
            )
        self._path = directory / state_files.DOORKEEPER
        self._report = report
        sets = 1 << (size // SET_BYTES).bit_length() - 1
        note = txn.get(DOORKEEPER_KEY, b"")
        numbers = noted_changes(txn)
        mapping = _map(self._path, note, writable=True)
        if mapping is not None and len(mapping) == sets:
            self.slots = mapping
            for number in numbers:
                self._apply_changes(txn.get(_change_key(number), b""))
        else:
            if note:
                report("the table of shingles seen once does not fit this store: begun anew")
            note = _make(self._path, sets)
            txn.put(DOORKEEPER_KEY, note)
            for number in numbers:
                txn.delete(_change_key(number))
            numbers = []
            mapping = _map(self._path, note, writable=True)
            assert mapping is not None, "it was made just now"
            self.slots = mapping
        self._noted = max(numbers, default=0)
        self._dropped = min(numbers, default=1) - 1
        self._synced = self._dropped
        self._sync_at = 0.0
        self._syncing: Future[int] | None = None
        self._syncer = ThreadPoolExecutor(1, thread_name_prefix="doorkeeper-sync")

    def note(self, txn: lmdb.Transaction[bytes], changes: SlotChanges) -> None:
        """Keep changes in the transaction that decided them, and drop those that the disk has."""
        if len(changes):
            txn.put(_change_key(self._noted + 1), changes.to_bytes())
        for number in range(self._dropped + 1, self._synced + 1):
            txn.delete(_change_key(number))

    def committed(self, changes: SlotChanges) -> None:
        """Make the changes: the transaction that noted them is on the disk."""
        self._dropped = self._synced
        if len(changes):
            self._noted += 1
            changes.make(self.slots)

    def sync_if_due(self, now: float) -> None:
        """Have the disk take the table, in another thread, each SYNC_S.

        `now` in seconds of any clock.
        """
        if self._syncing is not None:
            if not self._syncing.done():
                return
            future, self._syncing = self._syncing, None
            try:
                self._synced = future.result()
            except OSError as error:  # its notes stay, so nothing is lost
                self._report(f"cannot sync {self._path}: {error}")
                # the kernel may take pages for clean that it could not write
                self.slots[...] = self.slots.copy()
        if self._noted > self._synced and abs(now - self._sync_at) >= SYNC_S:
            self._sync_at = now
            self._syncing = self._syncer.submit(self._sync, self._noted)

    def close(self) -> None:
        """Let go of the file; what is not on the disk is in the notes."""
        self._syncer.shutdown()
        self.slots = np.empty((0, WAYS), np.uint32)

    def _sync(self, number: int) -> int:
        """Return `number` when the disk has all changes up to it.

        Fdatasync takes what was written through a map, too.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
        return number

    def _apply_changes(self, data: bytes) -> None:
        try:
            SlotChanges.from_bytes(data, self.slots.size).make(self.slots)
        except ValueError as error:
            self._report(f"changes to the table of shingles seen once are skipped: {error}")


class DoorkeeperReader:
    """A reading process's side of a table."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / state_files.DOORKEEPER
        self._note = b""
        self._slots: memoryview[int] | None = None

    def add_to(
        self,
        txn: lmdb.Transaction[bytes],
        keys: Sequence[bytes],
        places: Sequence[int],
        reference: int,
    ) -> list[tuple[int, bytes]]:
        """Return the cell of each key that was seen once, with its place.

        Args:
            txn: what says which table belongs to the store.
            keys: of the store, that have no record.
            places: what stands for each of `keys` in the answer.
            reference: the current ten-minute bucket.
        """
        slots = self.slots(txn)
        return [] if slots is None else doorkeeper.cells_seen_once(slots, keys, places, reference)

    def slots(self, txn: lmdb.Transaction[bytes]) -> memoryview[int] | None:
        """Return the slots of the table that belongs to the store; None = there is none.

        Args:
            txn: what says which it is.
        """
        note = txn.get(DOORKEEPER_KEY)
        if not note:
            return None
        if note != self._note:
            mapping = _map(self._path, note, writable=False)
            self._slots = None if mapping is None else mapping.reshape(-1).data
            self._note = note if mapping is not None else b""
        return self._slots


def forget_table(
    directory: Path, txn: lmdb.Transaction[bytes], report: Callable[[str], None]
) -> None:
    """Drop a table that is not wanted any more, with all its notes."""
    if txn.get(DOORKEEPER_KEY):
        report("the table of shingles seen once is switched off and dropped")
        for number in noted_changes(txn):
            txn.delete(_change_key(number))
        txn.delete(DOORKEEPER_KEY)
    (directory / state_files.DOORKEEPER).unlink(missing_ok=True)


def _make(path: Path, sets: int) -> bytes:
    """Make an empty table on the disk; return the note that names it."""
    identity = secrets.randbits(64)
    size = HEADER_BYTES + sets * SET_BYTES
    disk = os.statvfs(path.parent)
    if disk.f_bavail * disk.f_frsize < size + LEAST_ROOM:
        raise OSError(errno.ENOSPC, f"{size >> 20} MiB do not fit on the disk", os.fspath(path))
    unnamed = path.with_suffix(".new")
    try:
        descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE)
        try:
            os.posix_fallocate(descriptor, 0, size)  # a full disk shows here, not as SIGBUS
            os.pwrite(descriptor, HEADER.pack(MAGIC, VERSION, sets, identity), 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        unnamed.rename(path)
    except OSError:
        unnamed.unlink(missing_ok=True)
        raise
    return NOTE.pack(identity, sets)


def _map(path: Path, note: bytes, *, writable: bool) -> Slots | None:
    """Return the slots of the table that a note names; None when the file is another or damaged."""
    if len(note) != NOTE.size:
        return None
    identity, sets = NOTE.unpack(note)
    try:
        with path.open("rb") as file:
            header = file.read(HEADER.size)
            size = os.fstat(file.fileno()).st_size
        if (
            header != HEADER.pack(MAGIC, VERSION, sets, identity)
            or size != HEADER_BYTES + sets * SET_BYTES
            or sets & (sets - 1)
        ):
            return None
        return np.memmap(
            path, "<u4", "r+" if writable else "r", offset=HEADER_BYTES, shape=(sets, WAYS)
        ).view(np.ndarray)
    except FileNotFoundError:
        return None


def _change_key(number: int) -> bytes:
    return DOORKEEPER_CHANGES_KEY + NUMBER.pack(number)


def noted_changes(txn: lmdb.Transaction[bytes]) -> list[int]:
    """Return the numbers of the notes that are kept, rising."""
    numbers: list[int] = []
    with txn.cursor() as cursor:
        cursor.set_range(DOORKEEPER_CHANGES_KEY)
        for key in cursor.iternext(keys=True, values=False):
            if not key.startswith(DOORKEEPER_CHANGES_KEY):
                break
            numbers.append(NUMBER.unpack(key.removeprefix(DOORKEEPER_CHANGES_KEY))[0])
    return numbers
