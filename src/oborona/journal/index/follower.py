"""Keeps an index up with its journal, in one event loop.

File work runs on a thread of its own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from oborona.errors import StoreError
from oborona.journal.index.index import JournalIndex

# between looks when there is nothing: the index is so far behind, and what a worker's batch waits
PAUSE_S: Final = 0.5
RETRY_S: Final = 5.0  # where the journal can't be read, or the index not be written

_log = logging.getLogger("oborona.index")


class IndexFollower:
    """Follows; close it when `run` has ended.

    Args:
        index: nobody else changes it; it is closed with this.
        clock: Unix seconds.
        retry_s: between attempts while there is trouble.
    """

    def __init__(
        self,
        index: JournalIndex,
        *,
        clock: Callable[[], float] = time.time,
        retry_s: float = RETRY_S,
    ) -> None:
        self._index = index
        self._clock = clock
        self._retry_s = retry_s
        self._thread = ThreadPoolExecutor(1, "index")
        self._trouble = False  # said once

    @property
    def index(self) -> JournalIndex:
        """The index; others only find by it."""
        return self._index

    async def run(self, stop: asyncio.Event) -> None:
        """Follow until told to stop."""
        while not stop.is_set():
            pause_s = await self._step()
            if pause_s:
                try:
                    async with asyncio.timeout(pause_s):
                        await stop.wait()
                except TimeoutError:
                    continue

    async def purge(self, now: float, window_s: float) -> int:
        """Forget what nobody looks for any more; as `JournalIndex.purge`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(self._index.purge, now, window_s))

    def close(self) -> None:
        """Let the index go; waits for the step that is being made, some milliseconds."""
        self._thread.shutdown()
        self._index.close()

    async def _step(self) -> float:
        """Make one step; return how long to rest, seconds."""
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._index.follow, self._clock())
        except StoreError as error:
            if not self._trouble:
                self._trouble = True
                _log.error(
                    (
                        "index: %s; new messages are not found by what they share with others "
                        "until it can be followed again"
                    ),
                    error,
                )
            return self._retry_s
        except Exception:  # noqa: BLE001 - the barrier: purging and everything else go on
            _log.exception("index: a fault of ours")
            return self._retry_s
        if self._trouble:
            self._trouble = False
            _log.warning("index: follows the journal again")
        return 0.0 if self._index.busy else PAUSE_S
