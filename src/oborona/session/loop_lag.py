"""Lag of the event loop: a timer due every tenth of a second, and how late it fires.

It rests while nobody has asked for long, so that an idle worker sleeps.

It shows whatever blocks the loop: messages that compute for long, a machine without processor time
for us, a process that was stopped.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Final

BEAT_S: Final = 0.1
# without a question, until the timer rests: at least; more than any message waits that has one open
QUIET_S: Final = 30.0
LOST_SHARE: Final = 0.25  # of a deadline that the loop was held for: then that is why it was missed


class LoopLag:
    """The beat of one loop; without `start` nothing was ever late.

    Args:
        quiet_s: without a question, until the timer rests: longer than a deadline.
    """

    __slots__ = ("_asked_at", "_before_s", "_cpu", "_due", "_loop", "_lost_s", "_quiet_s", "_timer")

    def __init__(self, quiet_s: float = QUIET_S) -> None:
        self._quiet_s = quiet_s
        self._asked_at = -math.inf  # monotonic
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._lost_s = 0.0
        self._due = math.inf  # monotonic; inf = the timer rests
        self._cpu = 0.0
        self._before_s = 0.0  # CPU between the last two beats

    def start(self) -> None:
        """Beat from the first question on, in the running loop and its thread."""
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Beat no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop, self._due = None, math.inf

    @property
    def lost_s(self) -> float:
        """Seconds that the loop was held, since the start; only grows."""
        now = time.monotonic()
        self._wake(now)
        return self._lost_s + max(0.0, now - self._due)

    @property
    def behind_s(self) -> float:
        """CPU seconds that the loop computes until it comes round: the last time, or now, where
        that is more already.
        """
        now = time.monotonic()
        self._wake(now)
        if now <= self._due:
            return self._before_s
        return max(self._before_s, time.thread_time() - self._cpu)

    def held_up(self, lost_s: float, deadline_s: float) -> bool:
        """Tell whether a deadline was missed because the loop was held.

        Args:
            lost_s: as it was when the deadline began to run.
            deadline_s: how long that was.
        """
        return self.lost_s - lost_s >= LOST_SHARE * deadline_s

    def _wake(self, now: float) -> None:
        """Somebody asks: the timer runs from here on, if it rested."""
        self._asked_at = now
        if self._due == math.inf and self._loop is not None:
            self._cpu, self._before_s = time.thread_time(), 0.0
            self._set(self._loop, now)

    def _beat(self) -> None:
        now = time.monotonic()
        self._lost_s += max(0.0, now - self._due)
        cpu = time.thread_time()
        self._before_s, self._cpu = cpu - self._cpu, cpu
        if self._loop is None or now - self._asked_at > self._quiet_s:
            self._due, self._before_s = math.inf, 0.0
        else:
            self._set(self._loop, now)

    def _set(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        self._due = now + BEAT_S
        self._timer = loop.call_later(BEAT_S, self._beat)
