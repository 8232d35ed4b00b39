"""A guard against wrong clocks: whether the time is trusted enough to discard counts by age.

Folding, dropping and purging destroy counts by their age. A machine that boots in 1970, or whose
clock is a year ahead for a minute, must not lose two weeks of counts. So a jump of more than a day
in either direction is trusted only after the new time has run on for an hour; until then counts are
added and summed, and nothing is dropped.
"""

from __future__ import annotations

from typing import Final

from oborona.counters.window import BUCKETS_A_DAY

JUMP_BUCKETS: Final = BUCKETS_A_DAY  # a reboot or a night without mail is no jump
BELIEVED_AFTER_BUCKETS: Final = 6  # NTP has long had its say


class SteadyClock:
    """Follows the time the store has seen, ten-minute bucket by bucket.

    Args:
        newest: the last bucket that was believed, from the store; None when it is new.
    """

    def __init__(self, newest: int | None = None) -> None:
        self.newest = newest
        self._jumped_to: int | None = None
        self._reached = 0

    def believes(self, bucket: int) -> bool:
        """Return whether counts may be dropped at this time; takes note of it."""
        if self.newest is None or abs(bucket - self.newest) <= JUMP_BUCKETS:
            self._settle(bucket)
            return True
        if self._jumped_to is None or not self._jumped_to <= bucket <= self._reached + JUMP_BUCKETS:
            self._jumped_to = self._reached = bucket
        self._reached = max(self._reached, bucket)
        if bucket - self._jumped_to >= BELIEVED_AFTER_BUCKETS:
            self._settle(bucket)
            return True
        return False

    def _settle(self, bucket: int) -> None:
        self.newest = (
            bucket
            if self.newest is None or self._jumped_to is not None
            else max(self.newest, bucket)
        )
        self._jumped_to = None
