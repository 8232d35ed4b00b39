"""Keeps an index up with its journal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from oborona.doorbell import Doorbell
from oborona.journal.follower import JournalFollower
from oborona.journal.index.index import JournalIndex

RETRY_S: Final = 5.0  # where the journal can't be read, or the index not be written


class IndexFollower(JournalFollower):
    """Follows; close it when `run` has ended.

    Args:
        index: nobody else changes it; it is closed with this.
        clock: Unix seconds.
        retry_s: between attempts while there is trouble.
    """

    name = "index"
    meanwhile = (
        "new messages are not found by what they share with others until it can be followed again"
    )
    again = "follows the journal again"
    log = logging.getLogger("oborona.index")

    def __init__(
        self,
        index: JournalIndex,
        *,
        clock: Callable[[], float] = time.time,
        retry_s: float = RETRY_S,
    ) -> None:
        super().__init__(clock=clock, retry_s=retry_s)
        self._index = index

    @property
    def index(self) -> JournalIndex:
        """The index; others only find by it."""
        return self._index

    async def purge(self, now: float, window_s: float) -> int:
        """Forget what nobody looks for any more; as `JournalIndex.purge`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(self._index.purge, now, window_s))

    def _bell(self) -> Doorbell:
        return Doorbell(self._index.journal, sqlite=True, anyway=self._index.unwritten)

    def _take(self, now: float) -> bool:
        self._index.follow(now)
        return self._index.busy

    def _close(self) -> None:
        self._index.close()
