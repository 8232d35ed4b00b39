"""The one process that writes the counter store.

    step   look at all spools → one write transaction: their batches, their positions, the newest bucket → on disk
           → remove spools that are applied as a whole
    purge  walk on from where the last one stopped: delete records that are out of every window, tidy stale ones

Killed anywhere, it goes on where the last transaction ended: a flush is applied exactly once. A map that is full
doubles; a disk that is full is an error that says so, the spools wait, and the same step succeeds when there is room.
A data file that is found damaged when it is opened is set aside, never deleted, and a new one begun.
A second writer is refused by a lock that names the first.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

import lmdb

from oborona.counters import merge, verify
from oborona.counters.clock import SteadyClock
from oborona.counters.follow import Collected, Follower
from oborona.counters.lmdb_store import (
    FIRST_RECORD,
    I64,
    LEAST_ROOM,
    MAP_BYTES,
    MAX_READERS,
    MODE,
    NEWEST_KEY,
    POSITION_KEY,
    PURGE_KEY,
    SPOOLS,
    U32,
    VERSION,
    VERSION_KEY,
    Damaged,
    as_store_error,
    check_version,
    fill_up,
    positions,
    put_position,
    set_aside,
)
from oborona.counters.purge import Purged, purge_from
from oborona.counters.window import bucket_of
from oborona.errors import StoreError, StoreFull, StoreVersion
from oborona.lock import hold

LOG: Final = logging.getLogger(__name__)

LOCK: Final = "writer.lock"
STEP_BYTES: Final = 8 << 20  # of spools in one step: 400,000 entries, a second or two of work
INTERVAL_S: Final = 0.05
RETRY_S: Final = 1.0  # after an error
READER_CHECK_S: Final = 30.0  # slots of dead readers hold freed pages back
PURGE_S: Final = 1.0
PURGE_ROUND_S: Final = 6 * 3600.0  # time for one walk over the whole store
PURGE_LEAST: Final = 500  # records a step; 0.2 ms
LAST_STEPS: Final = 100  # when stopping: the spools of stopped workers are empty long before


Result = TypeVar("Result")


class Stop(Protocol):
    """What `threading.Event` is: asks `run` to end."""

    def is_set(self) -> bool: ...
    def wait(self, timeout: float, /) -> object: ...


class CounterWriter:
    """Applies all spools of a store; one per machine, held by a lock.

    Args:
        directory: the store's; made when missing.
        program: what a second writer is told, e.g. "oborona writer".
        map_bytes: first size of the map; it grows by itself.
        report: told, in words for an admin, what was cut, skipped, grown or failed.

    Raises:
        StoreBusy: another process writes it; the text names it.
        StoreVersion: a newer Oborona wrote it.
        StoreError: it cannot be made or opened.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        program: str = "oborona writer",
        map_bytes: int = MAP_BYTES,
        report: Callable[[str], None] = LOG.warning,
    ) -> None:
        self.directory = Path(directory)
        self._report = report
        with as_store_error(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = hold(self.directory / LOCK, program)
        try:
            try:
                self._open(map_bytes)
            except Damaged as damage:
                with as_store_error(self.directory):
                    aside = set_aside(self.directory, time.time())
                self._open(map_bytes)
                LOG.error("%s; set aside as %s, a new one is begun", damage, aside)  # noqa: TRY400 - the text says it
        except BaseException:
            self._lock.release()
            raise
        self._behind = False

    def _open(self, map_bytes: int) -> None:
        self._map_bytes = map_bytes
        self._panicked = False  # the environment is of no use until it is opened again
        with as_store_error(self.directory):
            self.environment = self._environment()
        try:
            with as_store_error(self.directory):
                fill_up(self.environment, self.directory)
            self._within(self._make)
            with as_store_error(self.directory), self.environment.begin() as txn:
                newest = txn.get(NEWEST_KEY)
                self._clock = SteadyClock(I64.unpack(newest)[0] if newest else None)
                kept = positions(txn)
                self._purge_place = txn.get(PURGE_KEY, FIRST_RECORD)
            self._follower = Follower(self.directory / SPOOLS, kept, self._report)
            self._follower.sweep()
            self._orphans = set(kept) - self._follower.owners()
            with as_store_error(self.directory):
                self.environment.reader_check()
        except BaseException:
            self.environment.close()
            raise

    def step(self, now: float) -> int:
        """Apply what is new in the spools; returns how many of their records.

        Args:
            now: Unix seconds; what is out of the windows at this time may be dropped.

        Raises:
            StoreFull: no room; nothing is lost, the next step tries again.
            StoreError: the spools or the store cannot be used.
        """
        if self._panicked:
            self._reopen()
        collected = self._follower.collect(STEP_BYTES)
        self._behind = collected.more
        if not (collected.batches or collected.positions or collected.finished or self._orphans):
            return 0
        if collected.batches or collected.positions or self._orphans:
            foreign = self._within(lambda txn: self._apply(txn, collected, bucket_of(now)))
            if foreign:
                self._report(f"{foreign} counts are left out: their time is over half a year from now")
        self._orphans = set()
        self._orphans = self._follower.settle(collected)  # their positions go with the next transaction
        return len(collected.batches)

    def purge(self, now: float, limit: int) -> Purged:
        """Walk over up to `limit` records and free those that are out of every window at `now`.

        Goes on from where the last call stopped, also after a restart; does nothing while the clock has jumped.

        Raises:
            StoreError: the store cannot be written.
        """
        bucket = bucket_of(now)
        if not self._clock.believes(bucket):
            return Purged()
        with as_store_error(self.directory), self.environment.begin() as txn:
            purged = purge_from(txn, self._purge_place, bucket, limit)
        if purged.changes:
            self._within(lambda txn: self._free(txn, purged))
        self._purge_place = purged.next
        return purged

    def verify(self) -> verify.Report:
        """Read the whole store and say what is wrong with it; in short transactions, beside everything else."""
        with as_store_error(self.directory):
            return verify.verify(self.environment)

    def run(
        self,
        stop: Stop,
        interval_s: float = INTERVAL_S,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Step and purge until `stop` is set, then apply what is left; errors are reported and tried again."""
        failed = ""
        checked = purged = time.monotonic()
        while not stop.is_set():
            pause = interval_s
            try:
                self.step(clock())
                if self._behind:
                    pause = 0.0
                elif time.monotonic() - purged >= PURGE_S:
                    self.purge(clock(), self._purge_share(time.monotonic() - purged))
                    purged = time.monotonic()
                if time.monotonic() - checked >= READER_CHECK_S:
                    with as_store_error(self.directory):
                        self.environment.reader_check()
                    checked = time.monotonic()
                if failed:
                    self._report(f"counting goes on in {self.directory}")
                    failed = ""
            except StoreVersion:
                raise
            except StoreError as error:
                if str(error) != failed:
                    self._report(f"counting stands still: {error}")
                    failed = str(error)
                pause = RETRY_S
            stop.wait(pause)
        try:
            for _ in range(LAST_STEPS):
                if not self.step(clock()):
                    break
        except StoreError as error:
            self._report(f"what is left in the spools waits for the next start: {error}")

    def close(self) -> None:
        """Close the store and let go of its lock."""
        self._follower.close()
        self.environment.close()
        self._lock.release()

    def _purge_share(self, elapsed_s: float) -> int:
        return max(PURGE_LEAST, int(self.environment.stat()["entries"] * elapsed_s / PURGE_ROUND_S))

    def _make(self, txn: lmdb.Transaction[bytes]) -> None:
        if not check_version(txn, self.directory):
            if txn.stat()["entries"]:
                raise StoreError(f"{self.directory} holds another program's data")
            txn.put(VERSION_KEY, U32.pack(VERSION))

    def _apply(self, txn: lmdb.Transaction[bytes], collected: Collected, bucket: int) -> int:
        believed = self._clock.believes(bucket)
        foreign = 0
        if collected.batches:
            foreign = merge.apply(txn, collected.batches, bucket, believed=believed)
        for owner in self._orphans:
            txn.delete(POSITION_KEY + owner.encode())
        for owner, position in collected.positions.items():
            put_position(txn, owner, position)
        self._note_time(txn)
        return foreign

    def _free(self, txn: lmdb.Transaction[bytes], purged: Purged) -> None:
        for key, stored in purged.changes:
            if stored:
                txn.put(key, stored)
            else:
                txn.delete(key)
        txn.put(PURGE_KEY, purged.next)
        self._note_time(txn)

    def _note_time(self, txn: lmdb.Transaction[bytes]) -> None:
        if self._clock.newest is not None:
            txn.put(NEWEST_KEY, I64.pack(self._clock.newest))

    def _within(self, work: Callable[[lmdb.Transaction[bytes]], Result]) -> Result:
        """Do `work` in a write transaction that is on the disk when this returns; the map grows as it must."""
        with as_store_error(self.directory):
            while True:
                try:
                    with self.environment.begin(write=True) as txn:
                        return work(txn)
                except lmdb.MapFullError:
                    self._grow()
                except lmdb.PanicError:  # a meta page could not be written: only opening it again helps
                    self._panicked = True
                    self._reopen()
                    raise

    def _reopen(self) -> None:
        """Open the environment again after a panic; if that fails, the next step tries it again."""
        with as_store_error(self.directory):
            self.environment.close()
            self.environment = self._environment()
        self._panicked = False

    def _environment(self) -> lmdb.Environment:
        return lmdb.open(
            os.fspath(self.directory),
            map_size=self._map_bytes,
            mode=MODE,
            readahead=False,  # records lie scattered
            max_readers=MAX_READERS,
        )

    def _grow(self) -> None:
        size = self.environment.info()["map_size"]
        disk = os.statvfs(self.directory)
        room = disk.f_bavail * disk.f_frsize
        if room < LEAST_ROOM:
            raise StoreFull(f"no room on the disk of {self.directory}: {room >> 10} KiB left")
        self.environment.set_mapsize(2 * size)
        self._map_bytes = 2 * size
        self._report(f"the counter store in {self.directory} may now grow to {2 * size >> 20} MiB")
