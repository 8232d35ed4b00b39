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

from oborona.doorbell import Doorbell
from oborona.errors import StoreError
from oborona.journal.index.index import JournalIndex

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
        following = asyncio.create_task(self._follow())
        await stop.wait()
        following.cancel()
        await asyncio.wait({following})

    async def _follow(self) -> None:
        """Follow for ever; at once where more is there, else when the journal has moved."""
        with Doorbell(self._index.journal, sqlite=True, anyway=self._index.unwritten) as bell:
            while True:
                await bell.rung()
                while True:
                    well = await self._step()
                    if not well:
                        await asyncio.sleep(self._retry_s)
                    elif not self._index.busy:
                        break

    async def purge(self, now: float, window_s: float) -> int:
        """Forget what nobody looks for any more; as `JournalIndex.purge`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(self._index.purge, now, window_s))

    def close(self) -> None:
        """Let the index go; waits for the step that is being made, some milliseconds."""
        self._thread.shutdown()
        self._index.close()

    async def _step(self) -> bool:
        """Make one step; return whether it could be made."""
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
            return False
        except Exception:  # noqa: BLE001 - the barrier: purging and everything else go on
            _log.exception("index: a fault of ours")
            return False
        if self._trouble:
            self._trouble = False
            _log.warning("index: follows the journal again")
        return True
