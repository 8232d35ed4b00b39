"""Lag of the event loop: a timer due every tenth of a second, and how late it fires.

It shows whatever blocks the loop: messages that compute for long, a machine without processor time
for us, a process that was stopped.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

BEAT_S: Final = 0.1
LOST_SHARE: Final = 0.25  # of a deadline that the loop was held for: then that is why it was missed


class LoopLag:
    """The beat of one loop; without `start` nothing was ever late."""

    __slots__ = ("_before_s", "_cpu", "_due", "_loop", "_lost_s", "_timer")

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._lost_s = 0.0
        self._due = 0.0
        self._cpu = 0.0
        self._before_s = 0.0  # CPU between the last two beats

    def start(self) -> None:
        """Beat from now on, in the running loop and its thread."""
        self._loop = asyncio.get_running_loop()
        self._cpu = time.thread_time()
        self._next()

    def stop(self) -> None:
        """Beat no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop = None

    @property
    def lost_s(self) -> float:
        """Seconds that the loop was held, since the start; only grows."""
        overdue = 0.0 if self._loop is None else time.monotonic() - self._due
        return self._lost_s + max(0.0, overdue)

    @property
    def behind_s(self) -> float:
        """CPU seconds that the loop computes until it comes round: the last time, or now, where
        that is more already.
        """
        if self._loop is None or time.monotonic() <= self._due:
            return self._before_s
        return max(self._before_s, time.thread_time() - self._cpu)

    def held_up(self, lost_s: float, deadline_s: float) -> bool:
        """Tell whether a deadline was missed because the loop was held.

        Args:
            lost_s: as it was when the deadline began to run.
            deadline_s: how long that was.
        """
        return self.lost_s - lost_s >= LOST_SHARE * deadline_s

    def _beat(self) -> None:
        self._lost_s = self.lost_s
        self._next()

    def _next(self) -> None:
        assert self._loop is not None
        cpu = time.thread_time()
        self._before_s, self._cpu = cpu - self._cpu, cpu
        self._due = time.monotonic() + BEAT_S
        self._timer = self._loop.call_later(BEAT_S, self._beat)
