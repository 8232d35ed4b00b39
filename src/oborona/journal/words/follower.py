"""Keeps search files up with their journal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from oborona.doorbell import Doorbell
from oborona.journal.follower import JournalFollower
from oborona.journal.words.writer import SETTLE_S, SearchWriter

PAUSE_S: Final = 5.0  # between steps that have little to do: larger ones cost a message less
RETRY_S: Final = 30.0  # where the journal can't be read, or a file not be written


class SearchFollower(JournalFollower):
    """Follows; close it when `run` has ended.

    Args:
        writer: nobody else uses it; it is closed with this.
        clock: Unix seconds.
        pause_s: between steps.
        retry_s: between attempts while there is trouble.
    """

    name = "search files"
    meanwhile = "searches read the journal until they go on"
    again = "follow the journal again"
    log = logging.getLogger("oborona.search")

    def __init__(
        self,
        writer: SearchWriter,
        *,
        clock: Callable[[], float] = time.time,
        pause_s: float = PAUSE_S,
        retry_s: float = RETRY_S,
    ) -> None:
        super().__init__(clock=clock, retry_s=retry_s, pause_s=pause_s)
        self._writer = writer

    def _bell(self) -> Doorbell:
        return Doorbell(self._writer.journal, sqlite=True, anyway=self._waits)

    def _waits(self) -> bool:
        """Tell whether a look is due though the journal has not moved."""
        return not 0 <= self._clock() - self._idle_at < SETTLE_S + self._pause_s

    def _take(self, now: float) -> bool:
        return self._writer.follow(now)

    def _close(self) -> None:
        self._writer.close()
