"""The death of a primary, as one worker and its sender live through it; for `cluster.py`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from oborona import state_files
from oborona.counter_load.cluster import ClusterSubject
from oborona.counter_load.job import READY, BenchJob
from oborona.counter_load.processes import BenchProcess
from oborona.counter_load.workload import Workload
from oborona.counters.cluster.outbox import TAGS_KEY
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.memory import MemoryCounters
from oborona.errors import StorePartial
from oborona.types import Amounts, Shingle

KEYS: Final = 100_000  # that shingles which come again are drawn from
PAUSE_S: Final = 0.005  # between messages
BEFORE_S: Final = 2.0  # of load before the death
QUIET_S: Final = 1.0  # without trouble: it is over
FLUSH_S: Final = 0.1
STEP_S: Final = 0.5  # what is sent is noted with the next step: a shorter lack is none
ALONE_S: Final = 30.0  # for a read of who checks
READY_S: Final = 60.0  # bounds a hang
OVER_S: Final = 120.0  # bounds a hang
CHECKED: Final = 500  # shingles in one read
ONE_SEEN: Final = Amounts(seen=1)


class Felt(msgspec.Struct):
    """How it was felt; times from the death on."""

    messages: int = 0
    slowest_ms: float = 0.0
    whole_s: float = 0.0
    sent_s: float = 0.0
    wrong: int = 0


@contextmanager
def writing(subject: ClusterSubject, folder: Path) -> Iterator[BenchProcess]:
    """Run the sender of a store as a process; it is ready."""
    kind = type(subject)
    job = BenchJob(
        subject=f"{kind.__module__}:{kind.__qualname__}",
        settings=msgspec.Raw(msgspec.json.encode(subject)),
        folder=str(folder),
        keys=KEYS,
        workers=1,
        rate=0.0,
        seconds=OVER_S,
        pairs=0,
        at_once=1,
        ahead=0,
        number=None,
    )
    with BenchProcess(job) as sender:
        sender.expect(READY, READY_S)
        yield sender
        sender.end()


async def outlive(subject: ClusterSubject, folder: Path, kill: Callable[[], None]) -> Felt:
    """Load a cluster, kill, go on until nothing is felt any more, and compare every count.

    Args:
        subject: counts exactly: with records for shingles seen once.
        folder: for what a run needs.
        kill: kills a primary.
    """
    with (
        writing(subject, folder),
        closing(LmdbReader(Path(subject.directory) / state_files.COUNTERS_OUTBOX)) as reader,
    ):
        with reader.transaction():
            pass  # it is open now, and no process may open it twice
        with closing(
            ClusterCounters(
                subject.directory, "worker", subject.access, environment=reader.environment
            )
        ) as worker:
            life = _Life(worker, reader)
            await life.go_on(lambda: time.monotonic() > life.began + BEFORE_S)
            life.died_at = time.monotonic()
            kill()
            await life.go_on(life.quiet)
            worker.flush(time.time())
            await life.until_sent()
        with closing(
            ClusterCounters(folder / "other", "other", subject.access, deadline_s=ALONE_S)
        ) as other:
            life.felt.wrong = await life.differences(other)
    return life.felt


class _Life:
    """One worker's; its counts are kept in a dictionary, too."""

    def __init__(self, worker: ClusterCounters, reader: LmdbReader) -> None:
        self.felt = Felt()
        self.began = self._done_at = self._flushed_at = time.monotonic()
        self.died_at = 0.0
        self._partial_at = self._lacked_at = 0.0
        self._worker = worker
        self._reader = reader
        self._model = MemoryCounters()
        self._messages = Workload(keys=KEYS).messages()
        self._seen: set[Shingle] = set()

    async def go_on(self, over: Callable[[], bool]) -> None:
        """Read and add until it is over."""
        while not over():
            if time.monotonic() > self.began + OVER_S:
                sys.exit(f"not over within {OVER_S:.0f} s")
            await self._message()
            self._note_lack()
            await asyncio.sleep(PAUSE_S)

    def quiet(self) -> bool:
        """Whether nothing has been felt for a while; if so it is noted how long something was."""
        self.felt.whole_s = max(self._partial_at - self.died_at, 0.0)
        self.felt.sent_s = max(self._lacked_at - self.died_at, 0.0)
        return time.monotonic() - max(self._partial_at, self._lacked_at, self.died_at) > QUIET_S

    async def until_sent(self) -> None:
        """Wait until the cluster has had everything for a while: the last flush may not be taken
        yet.
        """
        self._lacked_at = time.monotonic()
        while time.monotonic() - self._lacked_at < QUIET_S:
            if time.monotonic() > self.began + OVER_S:
                sys.exit(f"not sent within {OVER_S:.0f} s")
            if self._lacks():
                self._lacked_at = time.monotonic()
            await asyncio.sleep(PAUSE_S)

    async def differences(self, other: ClusterCounters) -> int:
        """Return how many shingles are read otherwise than they were added."""
        seen, now, wrong = sorted(self._seen), time.time(), 0
        for at in range(0, len(seen), CHECKED):
            part = seen[at : at + CHECKED]
            told, right = await other.read(part, now), await self._model.read(part, now)
            wrong += sum(one != two for one, two in zip(told, right, strict=True))
        return wrong

    async def _message(self) -> None:
        pieces = next(self._messages)
        now, began = time.time(), time.monotonic()
        try:
            await self._worker.read(pieces.shingles, now)
        except StorePartial:
            self._partial_at = time.monotonic()
        if self.died_at:
            self.felt.slowest_ms = max(self.felt.slowest_ms, 1000 * (time.monotonic() - began))
        for counters in (self._worker, self._model):
            counters.add(pieces, ONE_SEEN, now)
        self._seen.update(pieces.shingles)
        self.felt.messages += 1
        if time.monotonic() - self._flushed_at >= FLUSH_S:
            self._worker.flush(time.time())
            self._flushed_at = time.monotonic()

    def _note_lack(self) -> None:
        now = time.monotonic()
        if not self._lacks():
            self._done_at = now
        elif now - self._done_at > STEP_S:
            self._lacked_at = now

    def _lacks(self) -> bool:
        with self._reader.transaction() as txn:
            if txn is None:
                return True
            last, applied = np.frombuffer(txn.get(TAGS_KEY, b""), "<u8").reshape(2, -1)
            return bool((applied < last).any())
