"""A file that is empty and whose time says when something was last: for any number of processes."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from oborona.telemetry.log import event

PRIVATE: Final = 0o600

log = logging.getLogger("oborona.accounts")


class TimeMark:
    """One such file.

    Args:
        path: of the file, which need not be there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._trouble = ""

    def time(self) -> float:
        """Return when it was set last, Unix seconds; 0 = never.

        Raises:
            OSError: it can't be told.
        """
        try:
            return self._path.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def set(self, now: float) -> None:
        """Set it to `now`, Unix seconds.

        Raises:
            OSError: it can't be set.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, PRIVATE)
        try:
            os.utime(descriptor, (now, now))
        finally:
            os.close(descriptor)

    def try_set(self, now: float) -> None:
        """Set it where that can be; else the log says so, once."""
        try:
            self.set(now)
        except OSError as error:
            if str(error) != self._trouble:
                event(log, logging.ERROR, "a time is not written down", error=error)
            self._trouble = str(error)
        else:
            self._trouble = ""
