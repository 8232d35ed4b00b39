"""The one process of a machine that brings its counts to the cluster.

The cluster's counterpart of the writer.

    step    look at all spools → one transaction of the outbox: how far they are taken, and what was
            in them as a step → remove spools that are taken as a whole → send each tag what it
            lacks, in order → note what it has
    check   ask each tag what it has; drop steps that it had a minute ago and has still

A step is applied to a tag wholly, once and in order: the function keeps the number of the last one
beside the records, and takes the next one alone. So a step may be sent again whenever it is not
certain that it arrived: after a crash, after a lost answer, and after a failover to a replica that
had not got everything yet. Redis acknowledges before it replicates; the steps of the last minute
are therefore kept, and what a replica lacks is sent to it again.

A shard that is away holds up its own tags alone, until the outbox has grown to its limit; then
flushes wait in the spools. A second sender is refused by a lock that names the first.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import lmdb

from oborona import state_files
from oborona.counters import writer_loop
from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.delivery import OutboxDelivery
from oborona.counters.cluster.outbox import Outbox
from oborona.counters.cluster.outbox_feeder import OutboxFeeder
from oborona.counters.cluster.wire import ClusterAccess
from oborona.counters.lmdb_store import as_store_error
from oborona.counters.lmdb_write import open_or_begin_anew
from oborona.counters.top import KEEP_S
from oborona.counters.writer import READER_CHECK_S
from oborona.counters.writer_loop import INTERVAL_S, StopEvent
from oborona.lock import hold

LOG: Final = logging.getLogger(__name__)

# of steps; 15 hours of a thousand messages a minute, with every shard away
OUTBOX_BYTES: Final = 1 << 30
RETAIN_S: Final = 60.0  # longer than a replica may be behind that Redis still elects
CHECK_S: Final = 10.0


class ClusterWriter:
    """Brings all spools of a machine to a cluster; one per machine, held by a lock.

    Args:
        directory: of the spools and the outbox; made when missing.
        access: how to reach the cluster; it need not be there.
        program: what a second sender is told, e.g. "oborona writer".
        sync: whether what is sent was on the disk before.
        retain_s: so long a step is kept after the cluster had it, seconds.
        outbox_bytes: with so much unsent, flushes wait in the spools.
        doorkeeper: whether shingles seen once get no record.
        report: told, in words for an admin, what was cut, skipped, lost or failed.

    Raises:
        StoreBusy: another process sends; the text names it.
        StoreVersion: a newer Oborona wrote the outbox.
        StoreError: it cannot be made or opened.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        access: ClusterAccess,
        *,
        program: str = "oborona writer",
        sync: bool = True,
        retain_s: float = RETAIN_S,
        outbox_bytes: int = OUTBOX_BYTES,
        doorkeeper: bool = True,
        report: Callable[[str], None] = LOG.warning,
    ) -> None:
        self.directory = Path(directory)
        self._sync = sync
        self._outbox_bytes = outbox_bytes
        self._doorkeeper = doorkeeper
        self._report = report
        folder = self.directory / state_files.COUNTERS_OUTBOX
        with as_store_error(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = hold(self.directory / state_files.COUNTERS_LOCK, program)
        try:
            before = _file_number(folder)
            self._outbox = open_or_begin_anew(folder, self._open)
        except BaseException:
            self._lock.release()
            raise
        self._shards = BlockingClusterClient(access)
        self._delivery = OutboxDelivery(self._outbox, self._shards, retain_s, report)
        self._checked_at = self._looked_at = self._kept_at = time.monotonic()
        try:
            if before is not None and before != _file_number(folder):
                flushes = self._taking.pass_over()
                report(
                    f"{flushes} flushes in the spools are passed over: some of them may "
                    f"have been sent before"
                )
        except BaseException:
            self.close()
            raise

    def _open(self) -> Outbox:
        outbox = Outbox(
            self.directory / state_files.COUNTERS_OUTBOX, sync=self._sync, report=self._report
        )
        try:
            self._taking = OutboxFeeder(
                self.directory / state_files.COUNTERS_SPOOL,
                outbox,
                doorkeeper=self._doorkeeper,
                report=self._report,
            )
        except BaseException:
            outbox.close()
            raise
        return outbox

    @property
    def environment(self) -> lmdb.Environment:
        """The outbox, for who reads it in this process."""
        return self._outbox.environment

    @property
    def waiting(self) -> int:
        """Bytes of steps that are kept.

        What the cluster has had for long enough is dropped by `check`.
        """
        return self._outbox.size

    def step(self, now: float) -> int:
        """Take what is new in the spools, and send what the cluster lacks.

        Returns how many flushes were taken.

        That a shard is away is no error: it is reported, and what it lacks waits.

        Args:
            now: Unix seconds; what is out of the windows at this time may be dropped.

        Raises:
            StoreFull: no room for the outbox; nothing is lost, the next step tries again.
            StoreVersion: a newer Oborona counts in the cluster.
            StoreError: the spools or the outbox cannot be used, or the outbox is not what the
                cluster knows.
        """
        number = self._taking.take(now) if self._outbox.size < self._outbox_bytes else 0
        self._delivery.send()
        if not number:  # else it goes with the next one
            self._outbox.note_applied()
        return number

    def check(self) -> None:
        """Ask what the cluster has, and drop what it has had for long enough.

        Raises:
            StoreError: the outbox cannot be written.
        """
        self._delivery.check()

    def keep_top(self) -> None:
        """Write down which keys are the heaviest, if that has changed.

        Raises:
            StoreError: the outbox cannot be written.
        """
        sketch = self._taking.heavy
        if sketch.changed:
            self._outbox.keep_top(sketch)
            sketch.changed = False

    @property
    def behind(self) -> bool:
        """Whether the last step left something in the spools that it could have taken."""
        return self._taking.behind and self._outbox.size < self._outbox_bytes

    def chores(self, now: float, monotonic: float) -> None:
        """Check, write the heaviest keys down, clear slots of readers that died, when it is time.

        Raises:
            StoreError: the outbox cannot be written.
        """
        del now
        if monotonic - self._checked_at >= CHECK_S:
            self.check()
            self._checked_at = monotonic
        if monotonic - self._kept_at >= KEEP_S:
            self._kept_at = monotonic
            self.keep_top()
        if monotonic - self._looked_at >= READER_CHECK_S:
            with as_store_error(self.directory):
                self.environment.reader_check()
            self._looked_at = monotonic

    def run(
        self,
        stop: StopEvent,
        interval_s: float = INTERVAL_S,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Step and do chores until `stop` is set, then send what is left.

        Errors are reported and tried again.

        Raises:
            StoreVersion: a newer Oborona counts in the cluster.
        """
        writer_loop.run(self, stop, interval_s, clock, self._report)

    def close(self) -> None:
        """Hang up, close the outbox and let go of its lock."""
        self._shards.close()
        self._taking.close()
        self._outbox.close()
        self._lock.release()


def _file_number(folder: Path) -> int | None:
    """Return what tells the outbox's file from one that takes its place.

    None when there is none.
    """
    try:
        return (folder / state_files.COUNTERS_DATA).stat().st_ino
    except FileNotFoundError:
        return None
