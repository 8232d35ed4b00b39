r"""The steps on their way to the cluster, in an LMDB environment that the sender writes and the
workers read.

    \0version                 format, u32
    \0id                      of this outbox, 8 random bytes: under it the cluster keeps which steps
                              it has
    \0newest                  the last ten-minute bucket that was believed, i64
    \0tags                    by tag: the last step that has something for it, the last one that the
                              cluster has; u64 each
    \0done                    all steps up to this one were applied everywhere, u64
    \0spool/<owner>           how far that spool is taken into steps: file number, offset, sequence
    \0top/...                 `top.py`; of what this machine counted
    \0taken/<step><owner>     of a step that is kept: the owner's last flush before it, and the last
                              one in it; u64 each
    \1<step>                  a step (`steps.py`)

A flush goes from a spool into a step in one transaction, which is on the disk before the first byte
of it is sent. So a sender that dies anywhere sends the same step again, and the cluster knows it by
its number.
"""

from __future__ import annotations

import secrets
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import lmdb
import msgspec
import numpy as np
import numpy.typing as npt

from oborona.counters import top
from oborona.counters.cluster.layout import ID_BYTES, TAGS
from oborona.counters.heavy_hitters import HeavyHitters
from oborona.counters.lmdb_store import (
    I64,
    NEWEST_KEY,
    POSITION_KEY,
    TAKES_NOTHING,
    U32,
    VERSION_KEY,
    as_store_error,
    check_version,
    note_taking,
    positions,
    put_position,
)
from oborona.counters.lmdb_write import LmdbWriteEnvironment
from oborona.counters.spool_follower import SpoolPosition
from oborona.errors import StoreError

ID_KEY: Final = b"\0id"
TAGS_KEY: Final = b"\0tags"
DONE_KEY: Final = b"\0done"
TAKEN_KEY: Final = b"\0taken/"
STEP_KEY: Final = b"\1"
U64: Final = struct.Struct("<Q")
NUMBER: Final = struct.Struct(">Q")  # sorts
TAKEN: Final = struct.Struct("<QQ")
MAP_BYTES: Final = 16 << 20

Numbers = npt.NDArray[np.uint64]
"""[tag]"""


class OutboxStep(msgspec.Struct, frozen=True):
    """A step to be kept."""

    number: int
    tags: list[int]  # that it has something for
    data: bytes
    takes: bool = False  # something is taken back in it


class Outbox:
    """The sender's side.

    Args:
        directory: exists.
        sync: whether a transaction is on the disk when it ends.
        report: told, in words for an admin, when the file may grow, and which notes are damaged.

    Raises:
        StoreError: it cannot be made or opened; `Damaged` if it is no whole file.
    """

    def __init__(self, directory: Path, *, sync: bool, report: Callable[[str], None]) -> None:
        self.directory = directory
        self._report = report
        self._store = LmdbWriteEnvironment(directory, MAP_BYTES, sync=sync, report=report)
        try:
            self._store.within(self._make)
            with as_store_error(directory), self._store.environment.begin() as txn:
                self._load(txn)
        except BaseException:
            self._store.close()
            raise

    def _make(self, txn: lmdb.Transaction[bytes]) -> None:
        if check_version(txn, self.directory):
            return
        if txn.stat()["entries"]:
            raise StoreError(f"{self.directory} holds another program's data")
        txn.put(VERSION_KEY, U32.pack(TAKES_NOTHING))
        txn.put(ID_KEY, secrets.token_bytes(ID_BYTES))
        txn.put(TAGS_KEY, np.zeros((2, TAGS), "<u8").tobytes())
        txn.put(DONE_KEY, U64.pack(0))

    def _load(self, txn: lmdb.Transaction[bytes]) -> None:
        self.id: bytes = txn.get(ID_KEY, b"")
        newest = txn.get(NEWEST_KEY)
        self.newest = I64.unpack(newest)[0] if newest else None
        tags = np.frombuffer(txn.get(TAGS_KEY, b""), "<u8").reshape(2, TAGS).astype(np.uint64)
        self.last: Numbers = tags[0].copy()
        self.applied: Numbers = tags[1].copy()
        self._noted: Numbers = tags[1].copy()  # `applied` as it is kept
        self.positions = positions(txn)
        self._sizes: dict[int, int] = {}  # of the steps that are kept, in their order
        with txn.cursor() as cursor:
            if cursor.set_range(STEP_KEY):
                for key, value in cursor:
                    (number,) = NUMBER.unpack(key.removeprefix(STEP_KEY))
                    self._sizes[number] = len(value)
        self.size = sum(self._sizes.values())  # bytes of the steps that are kept

    @property
    def environment(self) -> lmdb.Environment:
        """For who reads it in this process."""
        return self._store.environment

    def steps_after(self, number: int) -> list[int]:
        """Return the steps that are kept behind one, in their order."""
        numbers = list(self._sizes)
        return numbers[bisect_right(numbers, number) :]

    def steps_up_to(self, number: int) -> list[int]:
        """Return the steps that are kept up to one, in their order."""
        numbers = list(self._sizes)
        return numbers[: bisect_right(numbers, number)]

    def step(self, number: int) -> bytes:
        """Return a step that is kept.

        Raises:
            StoreError: it cannot be read.
        """
        with as_store_error(self.directory), self._store.environment.begin() as txn:
            return txn.get(STEP_KEY + NUMBER.pack(number), b"")

    def note_applied(self) -> None:
        """Keep what is known of `applied`, if that has changed.

        Raises:
            StoreError: it cannot be written.
        """
        if not np.array_equal(self._noted, self.applied):
            self.note()

    def note(self, dropped: Iterable[int] = (), newest: int | None = None) -> None:
        """Keep what is known of `last` and `applied`, and drop steps that are not needed any more.

        Raises:
            StoreError: it cannot be written.
        """
        removed = list(dropped)
        self._store.within(lambda txn: self._note(txn, self.last, removed, newest))
        self._settled(removed, newest)

    def heavy(self) -> HeavyHitters:
        """Return the sketch of the heaviest keys that goes on from the notes."""
        with as_store_error(self.directory), self._store.environment.begin() as txn:
            return top.load(txn, self._report)

    def keep_top(self, sketch: HeavyHitters) -> None:
        """Write the notes of the heaviest keys.

        Raises:
            StoreError: it cannot be written.
        """
        self._store.within(lambda txn: top.keep(txn, sketch))

    def take(
        self,
        moved: Mapping[str, SpoolPosition],
        orphans: Iterable[str],
        newest: int | None,
        step: OutboxStep | None,
    ) -> None:
        """Keep how far spools are taken, and the step that was made of it.

        Raises:
            StoreFull: no room on the disk.
            StoreError: it cannot be written.
        """
        leaving = list(orphans)
        last = self.last.copy()
        if step is not None:
            last[step.tags] = step.number

        def work(txn: lmdb.Transaction[bytes]) -> None:
            for owner in leaving:
                txn.delete(POSITION_KEY + owner.encode())
            for owner, position in moved.items():
                put_position(txn, owner, position)
            if step is not None:
                txn.put(STEP_KEY + NUMBER.pack(step.number), step.data)
                if step.takes:
                    note_taking(txn)
                for owner, position in moved.items():
                    before = self.positions.get(owner, SpoolPosition()).sequence
                    if position.sequence > before:
                        key = TAKEN_KEY + NUMBER.pack(step.number) + owner.encode()
                        txn.put(key, TAKEN.pack(before, position.sequence))
            self._note(txn, last, [], newest)

        self._store.within(work)
        for owner in leaving:
            self.positions.pop(owner, None)
        self.positions.update(moved)
        if step is not None:
            self._sizes[step.number] = len(step.data)
            self.size += len(step.data)
        self.last = last
        self._settled([], newest)

    def close(self) -> None:
        """Close the environment."""
        self._store.close()

    def _note(
        self, txn: lmdb.Transaction[bytes], last: Numbers, dropped: list[int], newest: int | None
    ) -> None:
        txn.put(TAGS_KEY, np.stack([last, self.applied]).astype("<u8").tobytes())
        txn.put(DONE_KEY, U64.pack(all_done(last, self.applied)))
        for number in dropped:
            txn.delete(STEP_KEY + NUMBER.pack(number))
            with txn.cursor() as cursor:
                prefix = TAKEN_KEY + NUMBER.pack(number)
                while cursor.set_range(prefix) and cursor.key().startswith(prefix):
                    cursor.delete()
        if newest is not None:
            txn.put(NEWEST_KEY, I64.pack(newest))

    def _settled(self, dropped: list[int], newest: int | None) -> None:
        self._noted = self.applied.copy()
        for number in dropped:
            self.size -= self._sizes.pop(number)
        self.newest = newest if newest is not None else self.newest


def all_done(last: Numbers, applied: Numbers) -> int:
    """Return up to which step all are applied, of tags with these last and applied ones."""
    waiting = applied < last
    return int(applied[waiting].min() if waiting.any() else last.max())
