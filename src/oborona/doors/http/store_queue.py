"""Requests of accounts and of events wait for each other, and not the worker for them.

What works on files does so in the threads that the worker has for all its chores, and waits there
while another process writes: a panel that asks a hundred times at once would take all of them, and
the worker would hear of bans late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from oborona.errors import StoreBusy

AT_ONCE: Final = 2  # threads; a worker of one core has five
MOST_WAITING: Final = 64  # requests: a tenth of a second, as a rule

Found = TypeVar("Found")


class StoreQueue:
    """The requests of one door that work on files."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def work(self, work: Callable[[], Found]) -> Found:
        """Return what some work in a thread finds, once it has its turn.

        Raises:
            StoreBusy: too many wait already.
        """
        if self._waiting >= MOST_WAITING:
            raise StoreBusy(f"{MOST_WAITING} requests that write wait already")
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        try:
            return await asyncio.to_thread(work)
        finally:
            self._turn.release()
