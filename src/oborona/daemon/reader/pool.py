"""The children of one task: killed at their limit, replaced after many pictures.

Those that are kept are there before there is work; others are started with it, and end after a long
rest.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Final

import msgspec

from oborona.daemon.reader.child import ChildOrders
from oborona.daemon.reader.fair_queue import FairQueue, FairQueueFull, QueueTurn
from oborona.daemon.reader.process import PROGRAM, ChildStartFailed, ChildStopped, ReaderChild
from oborona.daemon.reader.wire import PictureOutcome, PictureResult
from oborona.metrics import Counter
from oborona.telemetry.log import event

JOBS: Final = 1000  # pictures of one process: what a library leaks is bounded
AGAIN_S: Final = 30.0  # after a child that did not come up, before the next is tried

SECONDS: Final = Counter(
    "oborona_reader_seconds", "Seconds that processes of a task were busy.", ("task",)
)
STARTED: Final = Counter(
    "oborona_reader_started", "Processes of a task that were started.", ("task",)
)

log = logging.getLogger("oborona.reader")


class PoolPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How the pool of one task is to be."""

    orders: ChildOrders
    processes: int
    limit_s: float  # for one picture
    queue: int  # pictures that wait
    queue_bytes: int
    idle_s: float
    # children that stay, at most `processes`: who asks of a new one waits for its start
    kept: int = 0
    jobs: int = JOBS
    program: tuple[str, ...] = PROGRAM


class ChildPool:
    """Children that do one task.

    Args:
        plan: how.
    """

    def __init__(self, plan: PoolPlan) -> None:
        self._plan = plan
        self._turns = FairQueue(at_once=plan.processes, most=plan.queue, weight=plan.queue_bytes)
        self._idle: list[ReaderChild] = []
        self._all: set[ReaderChild] = set()
        self._unstartable_until = 0.0
        self._said = ""
        STARTED.inc(self._task, by=0)
        SECONDS.inc(self._task, by=0)

    @property
    def waiting(self) -> int:
        """Pictures that wait."""
        return self._turns.waiting

    @property
    def pids(self) -> list[int]:
        """Children that run."""
        return sorted(child.pid for child in self._all)

    async def do(self, name: str, octets: bytes, turn: QueueTurn) -> PictureResult:
        """Return what became of a picture; never raises for what it holds.

        Args:
            name: of the picture, for the log.
            octets: of its file.
            turn: of this picture; urgent goes before others.
        """
        try:
            async with self._turns.take(turn):
                return await self._do(name, octets)
        except FairQueueFull:
            return PictureResult(PictureOutcome.REFUSED)

    async def _do(self, name: str, octets: bytes) -> PictureResult:
        child = await self._rested() or await self._start()
        if child is None:
            return PictureResult(PictureOutcome.UNABLE)
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            result = await child.ask(octets, self._plan.limit_s)
        except ChildStopped as error:
            self._all.discard(child)
            event(log, logging.WARNING, "picture stopped", task=self._task, picture=name, why=error)
            return PictureResult(PictureOutcome.STOPPED)
        except BaseException:
            self._all.discard(child)
            raise
        finally:
            SECONDS.inc(self._task, by=clock() - started)
        if result.memory or child.jobs >= self._plan.jobs:
            await self._end(child)
        else:
            child.idle_since = clock()
            self._idle.append(child)
        if result.memory:
            event(
                log, logging.WARNING, "picture stopped", task=self._task, picture=name, why="memory"
            )
            return PictureResult(PictureOutcome.STOPPED)
        if result.fault:
            event(
                log,
                logging.ERROR,
                "fault in a picture",
                task=self._task,
                picture=name,
                what=result.fault,
            )
            return PictureResult(PictureOutcome.FAILED)
        return PictureResult(PictureOutcome.DONE, result.found)

    async def _rested(self) -> ReaderChild | None:
        """Return a child that has nothing to do, the one that worked last: the others may go."""
        while self._idle:
            child = self._idle.pop()
            if child.lives:
                return child
            await self._end(child)  # killed by somebody else while it rested
        return None

    async def _start(self) -> ReaderChild | None:
        clock = asyncio.get_running_loop().time
        if clock() < self._unstartable_until:
            return None
        orders = msgspec.structs.replace(self._plan.orders, parent=os.getpid())
        try:
            child = await ReaderChild.start(orders, self._plan.program)
        except ChildStartFailed as error:
            self._unstartable_until = clock() + AGAIN_S
            if str(error) != self._said:
                event(log, logging.ERROR, "no process for pictures", task=self._task, why=error)
            self._said = str(error)
            return None
        STARTED.inc(self._task)
        self._all.add(child)
        if child.remark and child.remark != self._said:
            event(
                log,
                logging.WARNING,
                "a process for pictures is less confined",
                task=self._task,
                why=child.remark,
            )
        self._said = child.remark
        return child

    async def tend(self) -> None:
        """End children that have rested for long, and start those that are to be kept and are not
        there.
        """
        now = asyncio.get_running_loop().time()
        for child in [
            idle
            for idle in self._idle
            if not idle.lives or now - idle.idle_since >= self._plan.idle_s
        ]:
            if child.lives and len(self._all) <= self._plan.kept:
                break
            self._idle.remove(child)
            await self._end(child)
        # one that has a turn starts a child itself, and who comes meanwhile waits for this one
        if len(self._all) < self._plan.kept and not self._turns.waiting:
            async with self._turns.take(QueueTurn(0, urgent=True)):
                spare = await self._start() if len(self._all) < self._plan.kept else None
                if spare is not None:
                    spare.idle_since = asyncio.get_running_loop().time()
                    self._idle.append(spare)

    async def close(self) -> None:
        """End all children, busy ones too."""
        for child in list(self._all):
            await self._end(child)
        self._idle.clear()

    async def _end(self, child: ReaderChild) -> None:
        self._all.discard(child)
        await child.kill()

    @property
    def _task(self) -> str:
        return self._plan.orders.task.value
