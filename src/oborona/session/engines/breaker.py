"""A circuit breaker for an engine: when it is asked, and when it is left alone.  Pure: the caller
passes the time.

    well --FAILURES in a row--> away --pause over--> one question on trial --an answer--> well
                                  ^------------------- no answer, twice the pause --------|

A question that was cancelled before its answer counts neither as success nor as failure.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

FAILURES: Final = 5  # in a row: one message that an engine can't take is not the end of it
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0


class BreakerPermit(Enum):
    """Whether a question may be asked."""

    NONE = 0  # it may not
    USUAL = 1
    TRIAL = 2  # the one that may bring it back


class CircuitBreaker:
    """One engine's."""

    __slots__ = ("_failures", "_on_trial", "_pause_s", "_until")

    def __init__(self) -> None:
        self._failures = 0
        self._pause_s = 0.0  # 0: it is well
        self._until = 0.0
        self._on_trial = False

    @property
    def away(self) -> bool:
        """Whether it is left alone, or on trial."""
        return self._pause_s > 0

    def enter(self, now: float) -> BreakerPermit:
        """Return whether a question may be asked.

        One that was ends in `answered`, `failed` or `given_up`.

        Args:
            now: seconds, monotonic.
        """
        if not self.away:
            return BreakerPermit.USUAL
        if self._on_trial or now < self._until:
            return BreakerPermit.NONE
        self._on_trial = True
        return BreakerPermit.TRIAL

    def answered(self) -> bool:
        """Note an answer, to whatever question; return whether it was away until now."""
        was_away = self.away
        self._failures, self._pause_s, self._on_trial = 0, 0.0, False
        return was_away

    def failed(self, leave: BreakerPermit, now: float) -> bool:
        """Note that no answer came; return whether it is away from now on.

        Args:
            leave: that the question had.
            now: seconds, monotonic.
        """
        if self.away:
            if leave is BreakerPermit.TRIAL:  # others were asked before it went away
                self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
                self._until, self._on_trial = now + self._pause_s, False
            return False
        self._failures += 1
        if self._failures < FAILURES:
            return False
        self._pause_s, self._until = FIRST_PAUSE_S, now + FIRST_PAUSE_S
        return True

    def given_up(self, leave: BreakerPermit) -> None:
        """Note that nobody waited for the end of a question."""
        if leave is BreakerPermit.TRIAL:
            self._on_trial = False
