"""A process of the bench: a worker that loads the store, or its writer.

`python -m oborona.counter_load.child JOB`

    says "ready" → is told when to start → loads until the time is over, or its input ends → says
    "done" → keeps the store open until its input ends

The end of its input is the only signal, so that a process whose parent is gone, however it went,
ends as well. A worker does as a worker of the service does: each message is one `read_add`, a flush
each 0.1 s. Of each 16th message read and add are two calls, so that the read can be timed.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from oborona.counter_load.job import AT_ONCE, DONE, READY, AppliedFlushes, BenchJob
from oborona.counter_load.report import WorkerNotes
from oborona.counter_load.subject import BenchCounters
from oborona.counter_load.workload import Workload
from oborona.errors import OboronaError, StoreError
from oborona.types import Amounts, CountedPieces

FLUSH_S: Final = 0.1
TIMED: Final = 16  # of so many messages one
HOLD_S: Final = 1.0  # unpaced, a worker waits while the store lacks a flush older than this
LOOK_S: Final = 0.005  # between two looks whether it still does
SLEEP_S: Final = 0.001  # a shorter wait is not worth a sleep: the next one is longer
ONE_SEEN: Final = Amounts(seen=1)


class StopInput:
    """Standard input, whose end asks to stop; what `CounterWriter.run` takes."""

    def __init__(self) -> None:
        self._ended = False

    def is_set(self) -> bool:
        """Whether it has ended."""
        self.wait(0)
        return self._ended

    def wait(self, timeout: float, /) -> None:
        """Wait for its end; what else comes is not ours to read any more."""
        if not self._ended and select.select([0], [], [], timeout)[0]:
            self._ended = not os.read(0, 4096)


class BenchWorker:
    """Brings one worker's messages to the store."""

    def __init__(
        self, job: BenchJob, number: int, counters: BenchCounters, stop: StopInput
    ) -> None:
        self._counters = counters
        self._rate = job.rate
        self._seconds = job.seconds
        self._at_once = job.at_once
        self._turn_of = number / job.workers  # workers bring by turns
        self._number = number
        self._applied = AppliedFlushes(Path(job.folder))
        self._stop = stop
        self._taken = self._messages = self._unanswered = 0
        self._flushed_at: list[float] = []
        self._stored_at: list[float] = []
        self._read_s: list[float] = []
        self._flush_at = self._end = 0.0
        self._held = self._over = False

    async def load(self, workload: Workload, start: float) -> WorkerNotes:
        """Bring messages from `start` on, until the time is over or the input ends."""
        await asyncio.sleep(max(0.0, start - time.monotonic()))
        used = time.process_time()
        self._flush_at, self._end = start + FLUSH_S, start + self._seconds
        messages = workload.messages()
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._bring(messages, start))
        ended_at = time.monotonic()
        self._flush(ended_at)
        return WorkerNotes(
            messages=self._messages,
            unanswered=self._unanswered,
            ended_at=ended_at,
            flushed_at=self._flushed_at,
            stored_at=self._stored_at,
            read_s=self._read_s,
            cpu_s=time.process_time() - used,
            generator_cpu_s=workload.spent_s,
        )

    async def _bring(self, messages: Iterator[CountedPieces], start: float) -> None:
        counters = self._counters
        for pieces in messages:
            timed = self._taken % TIMED == 0
            due = start + (self._taken + self._turn_of) / self._rate if self._rate else start
            self._taken += 1
            await self._until(due)
            if self._over:
                return
            self._messages += 1
            try:
                if timed:
                    before = time.perf_counter()
                    await counters.read(pieces.shingles, time.time())
                    self._read_s.append(time.perf_counter() - before)
                else:
                    await counters.read_add(pieces, ONE_SEEN, time.time())
            except StoreError:
                self._unanswered += 1  # and the mail goes on
            if timed:
                counters.add(pieces, ONE_SEEN, time.time())
            self._turn(time.monotonic())
            while self._held and not self._over:
                await asyncio.sleep(LOOK_S)
                self._look(time.monotonic())
            if self._over:
                return

    async def _until(self, due: float) -> None:
        """Wait until then or the end of the load; what was added is flushed meanwhile."""
        while not self._over and (early := due - time.monotonic()) > SLEEP_S:
            await asyncio.sleep(min(early, FLUSH_S))
            self._turn(time.monotonic())

    def _turn(self, now: float) -> None:
        """Do what is due each 0.1 s."""
        if now >= self._flush_at:
            self._flush(now)
            self._look(now)

    def _flush(self, now: float) -> None:
        if self._counters.flush(time.time()):
            self._flushed_at.append(now)
            self._stored_at.append(time.monotonic())
        self._flush_at = now + FLUSH_S

    def _look(self, now: float) -> None:
        """See whether the time is over, and, unpaced, whether the store is too far behind."""
        self._over = now >= self._end or self._stop.is_set()
        if not self._rate:
            applied = self._applied.get(self._number)
            waiting = applied != AT_ONCE and applied < len(self._flushed_at)
            self._held = waiting and self._flushed_at[applied] < now - HOLD_S


async def work(job: BenchJob, number: int) -> None:
    """Be a worker; the store is opened and closed in the loop that uses it."""
    stop = StopInput()
    workload = Workload(keys=job.keys, worker=number, workers=job.workers, pairs=job.pairs)
    workload.prepare(job.ahead)
    counters = job.made().counters(number)
    try:
        worker = BenchWorker(job, number, counters, stop)
        _say(READY)
        # one short write on a pipe comes whole; nothing: the parent has ended
        told = os.read(0, 64)
        if told:
            job.note(await worker.load(workload, float(told)))
            _say(DONE)
        while not stop.is_set():
            stop.wait(60)  # nothing else is left to do in this loop
    finally:
        counters.close()


def write(job: BenchJob) -> None:
    """Be the writer."""
    writer = job.made().writer()
    try:
        _say(READY)
        writer.run(StopInput())
    finally:
        writer.close()


def _say(words: bytes) -> None:
    os.write(1, words)


def main() -> int:
    """Do the job of the command line; return the exit status."""
    job = msgspec.json.decode(sys.argv[1], type=BenchJob)
    status = os.EX_OK
    try:
        if job.number is None:
            write(job)
        else:
            uvloop.run(work(job, job.number))
    except* OboronaError as group:
        for error in group.exceptions:
            sys.stderr.write(f"oborona: {error}\n")
        status = os.EX_IOERR
    return status


if __name__ == "__main__":
    sys.exit(main())
