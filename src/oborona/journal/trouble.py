"""Reports to the admin that the journal's file can't be written: at once, then as a reminder, and
when it is over.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from oborona.errors import StoreError

RETRY_S: Final = 10.0  # between two attempts, at most
FIRST_RETRY_S: Final = 0.25  # after the first failure; doubled with each
REMIND_S: Final = 60.0  # between two log lines about the same trouble

_log = logging.getLogger("oborona.journal")


class JournalTrouble:
    """The state of one file: fine, or failing since a time.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.pause = 0.0  # seconds to wait before the next attempt; 0 = the file is fine
        self._path = path
        self._since = 0.0
        self._told_at = float("-inf")
        self._told_lost = 0

    def failed(self, why: StoreError, *, waiting: int, lost: int, now: float) -> None:
        """Take note of an attempt that failed.

        Args:
            why: what stopped it.
            waiting: entries in memory.
            lost: entries dropped since the start.
            now: seconds, by a clock that never goes back.
        """
        first = not self.pause
        if first:
            self._since = now
        self.pause = min(RETRY_S, self.pause * 2) if self.pause else FIRST_RETRY_S
        if first or now - self._told_at >= REMIND_S:
            _log.error(
                "journal: %s; mail goes on, %d entries wait in memory, %d were lost",
                why,
                waiting,
                lost,
            )
            self._told_at, self._told_lost = now, lost

    def succeeded(self, *, lost: int, now: float) -> None:
        """Take note that everything is written; arguments as for `failed`."""
        if self.pause:
            took = now - self._since
            _log.warning(
                "journal: %s is written again, after %.0f s; %d entries were lost",
                self._path,
                took,
                lost,
            )
        elif lost > self._told_lost and now - self._told_at >= REMIND_S:
            _log.error("journal: %s: %d entries were lost since the start", self._path, lost)
        else:
            return
        self.pause = 0.0
        self._told_at, self._told_lost = now, lost

    def over(self, *, lost: int) -> None:
        """Say what was lost and not yet told: there will be no other attempt."""
        if lost > self._told_lost:
            _log.error("journal: %s is closed; %d entries were lost", self._path, lost)
