"""How tests have the reader's children: small limits, and a program that does what it is told."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona.daemon.reader.child import ChildOrders
from oborona.daemon.reader.picture_queue import PictureQueue
from oborona.daemon.reader.pool import PoolPlan
from oborona.daemon.reader.wire import PictureResult, ReaderTask

PROGRAM: Final = (sys.executable, "-I", str(Path(__file__).with_name("odd_program.py")))


def plan(**changes: Any) -> PoolPlan:
    """Return a plan of one process with a limit of 2 seconds, with changes."""
    found = PoolPlan(
        orders=ChildOrders(task=ReaderTask.READ, parent=0, memory_bytes=64 << 20, niceness=3),
        processes=1,
        limit_s=2.0,
        queue=100,
        queue_bytes=1 << 20,
        idle_s=60.0,
        program=PROGRAM,
    )
    return msgspec.structs.replace(found, **changes)


def desk(cache_entries: int = 100, **changes: Any) -> PictureQueue:
    """Return a desk whose two tasks both have such a plan."""
    made, replace = plan(**changes), msgspec.structs.replace
    plans = {task: replace(made, orders=replace(made.orders, task=task)) for task in ReaderTask}
    return PictureQueue(plans, cache_entries=cache_entries)


async def ask(
    at: PictureQueue, what: str, *, task: ReaderTask = ReaderTask.READ, urgent: bool = True
) -> PictureResult:
    """Return what became of a picture that says what its reading does."""
    octets = what.encode()
    return await at.ask(task, sha256(octets).digest(), octets, urgent=urgent)


async def eventually(what: Callable[[], bool], within_s: float = 15.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < until, "it never came"
        await asyncio.sleep(0.01)
