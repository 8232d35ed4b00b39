"""A run of the bench: fill a store, load it by real processes, see how far it is, gather what they
noted.

    fill → start the writer, then the workers → all begin at one moment → until all are done, each 5
    ms: which flushes has the store? → until it has the last one → end workers, then the writer

The time of a run ends when the store has the last flush: the rate is of adds that it has, not of
adds that were handed over. Ctrl-C ends the load early, and what was measured is reported; a second
one ends all at once.
"""

from __future__ import annotations

import contextlib
import selectors
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from oborona.counter_load.job import AT_ONCE, DONE, READY, AppliedFlushes, BenchJob
from oborona.counter_load.processes import BenchProcess, cpu_s
from oborona.counter_load.report import BenchReport, WorkerNotes, report
from oborona.counter_load.subject import BenchSubject, StoreWatch
from oborona.counter_load.workload import KNOWN, SHINGLES
from oborona.errors import StoreError

LOOK_S: Final = 0.005
START_S: Final = 0.05  # from the word to the start
PATIENCE_S: Final = 120.0  # without a flush applied the store is taken for stuck
READY_S: Final = 300.0  # bounds a hang: a worker may have MOST_AHEAD messages to draw
AHEAD_A_SECOND: Final = 20_000  # messages prepared for each second of an unpaced run
MOST_AHEAD: Final = 2_000_000  # 250 MB
MOST_SECONDS: Final = 86_400.0
MOST_ADDS: Final = 1_000_000_000  # a second

Progress = Callable[[str, float], None]
"""Told what is going on, and the share of it that is done, 0 to 1."""


class BenchLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a store.

    Args:
        keys: that it holds at the start.
        seconds: to load for, a day at most.
        rate: adds a second of all workers; 0 = as many as it takes with about a second's lag.
        workers: processes.
        pairs: unique pairs a message.

    Raises:
        ValueError: one of them is out of its range.
    """

    keys: int = 10_000_000
    seconds: float = 30.0
    rate: int = 0
    workers: int = 1
    pairs: int = 0

    def __post_init__(self) -> None:
        if self.keys < KNOWN:
            raise ValueError(
                f"{self.keys} keys are too few: a message has {KNOWN} different ones of them"
            )
        if not 0 < self.seconds <= MOST_SECONDS:  # nor is NaN
            raise ValueError(
                f"{self.seconds} seconds: not above 0 and up to {MOST_SECONDS:.0f}, a day"
            )
        if not 0 <= self.rate <= MOST_ADDS:
            raise ValueError(f"{self.rate} adds a second: not 0 to {MOST_ADDS}")
        if self.workers < 1 or self.pairs < 0:
            raise ValueError(
                f"{self.workers} workers, {self.pairs} pairs: one at least, and none at least"
            )


def run(subject: BenchSubject, load: BenchLoad, progress: Progress) -> BenchReport:
    """Fill an empty store, load it, and return what that measured.

    Raises:
        StoreError: it can't be filled, it is stuck, or a process ended before its time; why is on
            standard error.
        KeyboardInterrupt: before the load began, or for the second time.
    """
    with (
        subject.filled(
            load.keys, time.time(), lambda share: progress("filling the store", share)
        ) as watch,
        tempfile.TemporaryDirectory(prefix="oborona-bench-") as folder,
        contextlib.ExitStack() as children,
    ):
        job = _job(subject, load, folder)
        return _Run(subject, load, job, watch, progress).go(children)


def _job(subject: BenchSubject, load: BenchLoad, folder: str) -> BenchJob:
    a_second = load.rate / SHINGLES if load.rate else AHEAD_A_SECOND
    kind = type(subject)
    return BenchJob(
        subject=f"{kind.__module__}:{kind.__qualname__}",
        settings=msgspec.Raw(msgspec.json.encode(subject)),
        folder=folder,
        keys=load.keys,
        workers=load.workers,
        rate=load.rate / SHINGLES / load.workers,
        seconds=load.seconds,
        pairs=load.pairs,
        at_once=subject.at_once,
        ahead=min(int(load.seconds * a_second), MOST_AHEAD) // load.workers,
    )


class _Run:
    """One load of a store that is filled."""

    def __init__(
        self,
        subject: BenchSubject,
        load: BenchLoad,
        job: BenchJob,
        watch: StoreWatch,
        progress: Progress,
    ) -> None:
        self._subject = subject
        self._load = load
        self._job = job
        self._watch = watch
        self._progress = progress
        self._applied = AppliedFlushes(Path(job.folder), load.workers)
        self._looks: list[list[tuple[float, int]] | None] = [
            None if watch.applied(number) is None else [] for number in range(load.workers)
        ]
        self._moved_at = 0.0
        self._interrupted = False

    def go(self, children: contextlib.ExitStack) -> BenchReport:
        """Start the processes within `children`, load, and return the figures."""
        self._progress("preparing the load", 0.0)
        before = self._watch.size()
        writer = (
            children.enter_context(BenchProcess(self._job)) if self._subject.has_writer else None
        )
        if writer is not None:
            writer.expect(READY, READY_S)
        workers = [
            children.enter_context(BenchProcess(msgspec.structs.replace(self._job, number=number)))
            for number in range(self._load.workers)
        ]
        for worker in workers:
            worker.expect(READY, READY_S)
        servers = [*self._subject.pids, *([writer.pid] if writer is not None else [])]
        used = sum(map(cpu_s, servers))
        started = self._moved_at = time.monotonic() + START_S
        for worker in workers:
            worker.tell(b"%r\n" % started)
        noted = self._follow(workers, writer, started)
        used = sum(map(cpu_s, servers)) - used
        for child in [*workers, *([writer] if writer is not None else [])]:
            child.end()
        return report(
            store=self._subject.name,
            noted=noted,
            looks=self._looks,
            started=started,
            before=before,
            after=self._watch.size(),
            others_cpu_s=used,
            rate=self._load.rate,
            pairs=self._load.pairs,
            interrupted=self._interrupted,
        )

    def _follow(
        self, workers: list[BenchProcess], writer: BenchProcess | None, started: float
    ) -> list[WorkerNotes]:
        """Look at the store until all workers are done and it has the last flush of each.

        Return what they noted.
        """
        noted: dict[int, WorkerNotes] = {}
        with selectors.DefaultSelector() as selector:
            for number, worker in enumerate(workers):
                selector.register(worker, selectors.EVENT_READ, number)
            if writer is not None:
                selector.register(writer, selectors.EVENT_READ)
            while len(noted) < len(workers) or self._lacks(noted):
                try:
                    for key, _ in selector.select(LOOK_S):
                        key.fileobj.expect(DONE, PATIENCE_S)  # type: ignore[union-attr]  # a `BenchProcess`; the writer never says so
                        noted[key.data] = self._job.noted(key.data)
                        selector.unregister(key.fileobj)
                    self._look()
                    self._progress(
                        "loading", min((time.monotonic() - started) / self._load.seconds, 1.0)
                    )
                except KeyboardInterrupt:
                    if self._interrupted:
                        raise
                    self._interrupted = True
                    for worker in workers:
                        worker.stop()
        return [noted[number] for number in range(len(workers))]

    def _look(self) -> None:
        """Note how far the store is.

        Raises:
            StoreError: it has not come on for a long time.
        """
        now = time.monotonic()
        for number, looks in enumerate(self._looks):
            applied = self._watch.applied(number)
            if looks is None or applied is None:
                self._applied.set(number, AT_ONCE)
                self._moved_at = now
            elif not looks or applied > looks[-1][1]:
                self._applied.set(number, applied)
                self._moved_at = now
                looks.append((now, applied))
        if now - self._moved_at > PATIENCE_S:
            raise StoreError(f"the store has taken nothing for {PATIENCE_S:.0f} s")

    def _lacks(self, noted: dict[int, WorkerNotes]) -> bool:
        return any(
            looks is not None and (looks[-1][1] if looks else 0) < len(noted[number].flushed_at)
            for number, looks in enumerate(self._looks)
        )
