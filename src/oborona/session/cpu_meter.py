"""CPU time of one message: that of the loop's thread during the message's own turns, without what
other messages compute between them.

Reading the thread's CPU clock is a system call, reading the wall clock is not; and CPU time never
exceeds wall time.  So the CPU clock is read at the beginning of a turn only if the last reading is
not recent, and at its end only if the turn was long.  What others computed between that reading and
the turn, at most `SHORT_S`, then counts as the message's own.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from oborona.policy.budget import OverBudgetError

# a turn that was no longer is taken for CPU whole, and a reading that is no older for one of now
SHORT_S: Final = 0.005


class _Readings(threading.local):
    """The last reading of a thread's CPU, and when it was."""

    cpu = 0.0
    at = -SHORT_S


_last: Final = _Readings()


class CpuMeter:
    """A `Budget` in CPU seconds: what is computed between `begin` and `end` of each turn
    (`setapart.notes.Notes.steps`).

    Args:
        limit_s: that may be computed.
    """

    __slots__ = ("_began", "_cpu", "_limit_s", "_until", "spent_s")

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._until = limit_s
        self._began = 0.0  # the turn at hand
        self._cpu = 0.0  # then, or shortly before
        self.spent_s = 0.0  # in the turns before

    def check(self) -> None:
        """Return at once where something is left.

        Raises:
            OverBudgetError: nothing is.
        """
        left_s = self._until - self.spent_s
        if time.monotonic() - self._began > left_s and time.thread_time() - self._cpu > left_s:
            raise OverBudgetError(f"over {self._limit_s:g} s of CPU")

    def again(self) -> None:
        """Allow the same once more, from here on."""
        self._until = self.spent_s + time.thread_time() - self._cpu + self._limit_s

    def begin(self) -> None:
        """A turn begins."""
        self._began = time.monotonic()
        if self._began - _last.at > SHORT_S:
            _last.cpu, _last.at = time.thread_time(), self._began
        self._cpu = _last.cpu

    def end(self) -> None:
        """It ends."""
        lasted_s = time.monotonic() - self._began
        self.spent_s += lasted_s if lasted_s < SHORT_S else time.thread_time() - self._cpu
