"""Keeps search files up with their journal, in one event loop; file work runs on a thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from oborona.doorbell import Doorbell
from oborona.errors import StoreError
from oborona.journal.words.writer import SETTLE_S, SearchWriter

PAUSE_S: Final = 5.0  # between steps that have little to do: larger ones cost a message less
RETRY_S: Final = 30.0  # where the journal can't be read, or a file not be written

_log = logging.getLogger("oborona.search")


class SearchFollower:
    """Follows; close it when `run` has ended.

    Args:
        writer: nobody else uses it; it is closed with this.
        clock: Unix seconds.
        pause_s: between steps.
        retry_s: between attempts while there is trouble.
    """

    def __init__(
        self,
        writer: SearchWriter,
        *,
        clock: Callable[[], float] = time.time,
        pause_s: float = PAUSE_S,
        retry_s: float = RETRY_S,
    ) -> None:
        self._writer = writer
        self._clock = clock
        self._pause_s = pause_s
        self._retry_s = retry_s
        self._thread = ThreadPoolExecutor(1, "search")
        self._trouble = False  # said once
        self._idle_at = 0.0  # when nothing was left to do

    async def run(self, stop: asyncio.Event) -> None:
        """Follow until told to stop."""
        following = asyncio.create_task(self._follow())
        await stop.wait()
        following.cancel()
        await asyncio.wait({following})

    def close(self) -> None:
        """Let the files go; waits for the step that is being made."""
        self._thread.shutdown()
        self._writer.close()

    async def _follow(self) -> None:
        with Doorbell(self._writer.journal, sqlite=True, anyway=self._waits) as bell:
            while True:
                await bell.rung()
                rung_at = self._clock()
                await self._catch_up()
                self._idle_at = rung_at
                await asyncio.sleep(self._pause_s)

    async def _catch_up(self) -> None:
        while (more := await self._step()) is not False:
            if more is None:
                await asyncio.sleep(self._retry_s)

    def _waits(self) -> bool:
        """Tell whether a look is due though the journal has not moved."""
        return not 0 <= self._clock() - self._idle_at < SETTLE_S + self._pause_s

    async def _step(self) -> bool | None:
        """Take a step; return whether more is to be done at once, None: there is trouble."""
        loop = asyncio.get_running_loop()
        try:
            busy = await loop.run_in_executor(self._thread, self._writer.follow, self._clock())
        except StoreError as error:
            if not self._trouble:
                self._trouble = True
                _log.error("search files: %s; searches read the journal until they go on", error)
            return None
        except Exception:  # noqa: BLE001 - the barrier: purging and everything else go on
            _log.exception("search files: a fault of ours")
            return None
        if self._trouble:
            self._trouble = False
            _log.warning("search files: follow the journal again")
        return busy
