"""The one process that writes the counter store.

    step   look at all spools → one write transaction: their batches, their positions, the newest
           bucket → on disk → remove spools that are applied as a whole
    look   walk on from where the last one stopped: records that are out of every window, and stale
           ones; the next step frees them at its beginning, so that a purge waits for no disk of its
           own while mail flows

Killed anywhere, it goes on where the last transaction ended: a flush is applied exactly once. A
disk that is full is an error that says so, the spools wait, and the same step succeeds when there
is room. A second writer is refused by a lock that names the first.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import lmdb
import msgspec

from oborona import state_files, store_birth
from oborona.atomic_file import OpenFileCheck
from oborona.counters import file_check, merge, top, verify, writer_loop
from oborona.counters.clock import SteadyClock
from oborona.counters.doorkeeper import SlotChanges
from oborona.counters.doorkeeper_file import DoorkeeperWriter, forget_table
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import (
    BEGUN_KEY,
    DOORKEEPER_KEY,
    FIRST_RECORD,
    I64,
    MAP_BYTES,
    NEWEST_KEY,
    POSITION_KEY,
    PURGE_KEY,
    TAKES_NOTHING,
    U32,
    VERSION_KEY,
    DamagedStore,
    as_store_error,
    check_version,
    note_taking,
    positions,
    put_position,
)
from oborona.counters.lmdb_write import LmdbWriteEnvironment, open_or_begin_anew
from oborona.counters.merge import AppliedBatches
from oborona.counters.migrate import migrate
from oborona.counters.purge import PurgeResult, purge_from
from oborona.counters.spool import sync_directory
from oborona.counters.spool_follower import CollectedBatches, SpoolFollower
from oborona.counters.window import bucket_of
from oborona.counters.writer_loop import StopEvent
from oborona.errors import StoreError
from oborona.lock import hold

LOG: Final = logging.getLogger(__name__)

STEP_BYTES: Final = 8 << 20  # of spools in one step: 400,000 entries, a second of work
READER_CHECK_S: Final = 30.0  # slots of dead readers hold freed pages back
PURGE_ROUND_S: Final = 6 * 3600.0  # time for one walk over the whole store
# between two steps: what one worker counts, another knows so much later; each step costs pages,
# whatever it brings (docs/adr/0061-who-wakes-when.md)
STEP_S: Final = 0.5
PURGE_LEAST: Final = 75  # records a look, of which there is one a step
PURGE_MOST: Final = 3000  # 1.5 ms, however long the last look is ago; 430 million in a round
LAG_S: Final = 10.0  # between flush and store; said once, and once more when it is over
CAUGHT_UP_S: Final = 2.0
DOORKEEPER_BYTES: Final = 16 << 20  # four million shingles seen once


class LmdbCounterWriter:
    """Applies all spools of a store; one per machine, held by a lock.

    Args:
        directory: the store's; made when missing.
        program: what a second writer is told, e.g. "oborona writer".
        map_bytes: first size of the map; it grows by itself.
        durability: with "none" a transaction need not be on the disk when it ends.
        doorkeeper_bytes: size of the table of shingles seen once; 0 = all get records.
        report: told, in words for an admin, what was cut, skipped, grown or failed.
        state: the folder that keeps which store is expected here; None = nobody does.

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
        durability: Durability = "second",
        doorkeeper_bytes: int = DOORKEEPER_BYTES,
        report: Callable[[str], None] = LOG.warning,
        state: Path | None = None,
    ) -> None:
        self.directory = Path(directory)
        self._map_bytes = map_bytes
        self._durability = durability
        self._doorkeeper_bytes = doorkeeper_bytes
        self._report = report
        self._state = state
        with as_store_error(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = hold(self.directory / state_files.COUNTERS_LOCK, program)
        try:
            self._begin()
        except BaseException:
            self._lock.release()
            raise
        self._behind = False
        self._lags = self._foreign = False  # it was said
        self._purged_at = self._kept_at = self._checked_at = time.monotonic()

    @property
    def environment(self) -> lmdb.Environment:
        """The store, for who reads it in this process."""
        return self._store.environment

    def _begin(self, why: str = "") -> None:
        """Open the store, or begin it anew.

        What becomes of the one that was expected here is told.
        """
        path = self.directory / state_files.COUNTERS_DATA
        exists = path.exists() and path.stat().st_size > 0
        if not why and not exists and file_check.has_data_file(self.directory):
            why = "was gone or empty"
        open_or_begin_anew(self.directory, self._open)
        self._file = OpenFileCheck(path)
        if exists and self._new:
            why = why or "was damaged or another site's, and was set aside"
        if self._state is not None:
            if why:
                store_birth.note_lost(self._state, store_birth.COUNTERS, why)
            store_birth.note_birth(
                self._state, store_birth.COUNTERS, self._birth, fresh=self._fresh, empty=self._new
            )

    def _stay(self) -> None:
        """Leave a data file that is not in place any more: what is counted in it nobody reads."""
        if not self._file.in_place():
            self._follower.close()  # the new one reads each spool from where its store has it
            self._close_store()
            self._begin("was taken away, or replaced, while it was in use")

    def _open(self) -> None:
        self._store = LmdbWriteEnvironment(
            self.directory, self._map_bytes, sync=self._durability != "none", report=self._report
        )
        self._doorkeeper: DoorkeeperWriter | None = None
        try:
            self._store.within(self._make)
            sync_directory(self.directory)  # the names of files that may be new
            with as_store_error(self.directory), self.environment.begin() as txn:
                newest = txn.get(NEWEST_KEY)
                self._clock = SteadyClock(I64.unpack(newest)[0] if newest else None)
                taken_to = positions(txn)
                self._purge_place = txn.get(PURGE_KEY, FIRST_RECORD)
                self._heavy = top.load(txn, self._report)
            self._follower = SpoolFollower(
                self.directory / state_files.COUNTERS_SPOOL, taken_to, self._report
            )
            self._follower.sweep()
            self._orphans = set(taken_to) - self._follower.owners()
            self._found: PurgeResult | None = None  # by a look, and not freed yet
        except BaseException:
            self._close_store()
            raise

    def step(self, now: float) -> int:
        """Apply what is new in the spools; returns how many of their records.

        Args:
            now: Unix seconds; what is out of the windows at this time may be dropped.

        Raises:
            StoreFull: no room; nothing is lost, the next step tries again.
            StoreError: the spools or the store cannot be used.
        """
        self._stay()
        collected = self._follower.collect(STEP_BYTES)
        self._behind = collected.more
        if not (collected.batches or collected.positions or collected.finished or self._orphans):
            return 0
        if collected.batches or collected.positions or self._orphans:
            purged, self._found = self._found, None  # if this fails, the next round finds it again
            applied, changes = self._store.within(
                lambda txn: self._apply(txn, collected, purged, bucket_of(now))
            )
            if self._doorkeeper is not None:
                self._doorkeeper.committed(changes)
            for part in applied:
                self._heavy.forget(part.forgotten)
                self._heavy.feed(part.total.keys, part.total.cells, part.total.starts, now)
            self._say_lag(now - min((batch.time for batch in collected.batches), default=now))
            foreign = sum(part.total.foreign for part in applied)
            if foreign and not self._foreign:
                self._report(
                    f"{foreign} counts are left out: their time is over half a year from now"
                )
            self._foreign = bool(foreign)
        self._orphans = set()
        # their positions go with the next transaction
        self._orphans = self._follower.settle(collected)
        return len(collected.batches)

    def look(self, now: float, limit: int) -> PurgeResult:
        """Walk over up to `limit` records.

        The next step frees those that are out of every window at `now`.

        Goes on from where the last call stopped, also after a restart; does nothing while the clock
        has jumped. What no step has freed since the last call, because nothing came, is freed
        first.

        Raises:
            StoreError: the store cannot be read, or not be written.
        """
        self._free_found()
        bucket = bucket_of(now)
        if not self._clock.believes(bucket):
            return PurgeResult()
        with as_store_error(self.directory), self.environment.begin() as txn:
            purged = purge_from(txn, self._purge_place, bucket, limit)
        if purged.changes:
            self._found = purged
        self._purge_place = purged.next
        return purged

    def purge(self, now: float, limit: int) -> PurgeResult:
        """Look, and free what is found in a transaction of its own.

        Raises:
            StoreError: as in `look`.
        """
        purged = self.look(now, limit)
        self._free_found()
        return purged

    def verify(self) -> verify.VerifyReport:
        """Read the whole store and say what is wrong with it.

        In short transactions, beside everything else.
        """
        with as_store_error(self.directory):
            return verify.verify(self.environment)

    def keep_top(self) -> None:
        """Write down which keys are the heaviest, if that has changed.

        Raises:
            StoreError: the store cannot be written.
        """
        if self._heavy.changed:
            self._store.within(lambda txn: top.keep(txn, self._heavy))
            self._heavy.changed = False

    @property
    def behind(self) -> bool:
        """Whether the last step left something in the spools that it could have taken."""
        return self._behind

    def chores(self, now: float, monotonic: float) -> None:
        """Purge, sync the doorkeeper, clear dead readers' slots, write the heaviest keys down: what
        is due of it.

        Raises:
            StoreError: the store cannot be used.
        """
        if self._doorkeeper is not None:
            self._doorkeeper.sync_if_due(monotonic)
        if monotonic - self._kept_at >= top.KEEP_S:
            self._kept_at = monotonic
            self.keep_top()
        if monotonic - self._checked_at >= READER_CHECK_S:
            self._checked_at = monotonic
            with as_store_error(self.directory):
                self.environment.reader_check()
        elapsed_s, self._purged_at = monotonic - self._purged_at, monotonic
        self.look(now, self._purge_share(elapsed_s))

    def run(
        self, stop: StopEvent, interval_s: float = STEP_S, *, clock: Callable[[], float] = time.time
    ) -> None:
        """Step and do chores until `stop` is set, then apply what is left.

        Errors are reported and tried again.

        Raises:
            StoreVersion: a newer Oborona has taken the store over.
        """
        writer_loop.run(self, stop, interval_s, clock, self._report)

    def close(self) -> None:
        """Close the store and let go of its lock."""
        self._follower.close()
        self._close_store()
        self._lock.release()

    def _close_store(self) -> None:
        if self._doorkeeper is not None:
            self._doorkeeper.close()
        self._store.close()

    def _say_lag(self, lag_s: float) -> None:
        if lag_s >= LAG_S and not self._lags:
            self._lags = True
            self._report(f"counting is {lag_s:.0f} s behind; the spools keep what waits")
        elif self._lags and lag_s < CAUGHT_UP_S:
            self._lags = False
            self._report("counting has caught up")

    def _purge_share(self, elapsed_s: float) -> int:
        share = int(self.environment.stat()["entries"] * elapsed_s / PURGE_ROUND_S)
        return min(max(share, PURGE_LEAST), PURGE_MOST)

    def _make(self, txn: lmdb.Transaction[bytes]) -> None:
        self._new = False
        if check_version(txn, self.directory):
            before = migrate(txn)
            if before < TAKES_NOTHING:
                self._report(
                    f"the counter store is brought from version {before} to {TAKES_NOTHING}"
                )
        else:
            if txn.stat()["entries"]:
                raise StoreError(f"{self.directory} holds another program's data")
            txn.put(VERSION_KEY, U32.pack(TAKES_NOTHING))
            self._new = True
        self._check_birth(txn)
        if self._doorkeeper is not None:  # this is tried again
            self._doorkeeper.close()
            self._doorkeeper = None
        if not self._doorkeeper_bytes:
            forget_table(self.directory, txn, self._report)
            return
        try:
            self._doorkeeper = DoorkeeperWriter(
                self.directory, self._doorkeeper_bytes, txn, self._report
            )
        except OSError as error:
            txn.delete(DOORKEEPER_KEY)  # so that readers let go of it, too
            self._report(f"no table of shingles seen once, so all get records: {error}")

    def _check_birth(self, txn: lmdb.Transaction[bytes]) -> None:
        stored = txn.get(BEGUN_KEY)
        try:
            birth = (
                None if stored is None else msgspec.json.decode(stored, type=store_birth.StoreBirth)
            )
        except (msgspec.DecodeError, UnicodeDecodeError):
            birth = None
        self._fresh = birth is None
        self._birth = birth or store_birth.new_birth(self.directory)
        if store_birth.is_foreign(self._birth, self.directory):
            raise DamagedStore(
                f"the counter store in {self.directory} is of another site: begun with "
                f"another secret"
            )
        if birth is None:
            txn.put(BEGUN_KEY, msgspec.json.encode(self._birth))

    def _apply(
        self,
        txn: lmdb.Transaction[bytes],
        collected: CollectedBatches,
        purged: PurgeResult | None,
        bucket: int,
    ) -> tuple[list[AppliedBatches], SlotChanges]:
        if purged is not None:
            self._free(txn, purged)
        slots = self._doorkeeper.slots if self._doorkeeper is not None else None
        applied, changes = merge.apply_in_order(
            txn, collected.batches, bucket, believed=self._clock.believes(bucket), slots=slots
        )
        if any(batch.takes for batch in collected.batches):
            note_taking(txn)
        for owner in self._orphans:
            txn.delete(POSITION_KEY + owner.encode())
        for owner, position in collected.positions.items():
            put_position(txn, owner, position)
        if self._doorkeeper is not None:
            self._doorkeeper.note(txn, changes)
        self._note_time(txn)
        return applied, changes

    def _free_found(self) -> None:
        purged, self._found = self._found, None
        if purged is not None:
            self._store.within(lambda txn: self._free(txn, purged))

    def _free(self, txn: lmdb.Transaction[bytes], purged: PurgeResult) -> None:
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
