"""Whether the policy files have come to rest since they changed: editors, copying and unpacking
take several steps.
"""

from __future__ import annotations

import logging
from typing import Final

from oborona.policy.watch import FolderState
from oborona.telemetry.log import event

REST_S: Final = 0.1  # that they must have stayed the same
MOVING_S: Final = 5.0  # of changes without rest: said once

log = logging.getLogger("oborona.policy")


class QuietPeriod:
    """The recent states of the policy folder.

    Args:
        handled: its state when it was last read.
    """

    def __init__(self, handled: FolderState) -> None:
        self._handled = handled
        self._coming: FolderState = ()  # how it looked at the last look
        self._coming_at = 0.0  # since when it looks so, monotonic; 0 = as it was read
        self._moving_at = 0.0  # since when it changes without rest, monotonic; 0 = it does not
        self._said = False

    @property
    def waits(self) -> bool:
        """Whether the files changed and have not come to rest."""
        return bool(self._moving_at)

    def came(self, state: FolderState, now: float) -> bool:
        """Tell whether the files changed and have come to rest.

        Args:
            state: how the folder looks.
            now: monotonic seconds.
        """
        if state == self._handled:
            self._moving_at = self._coming_at = 0.0
            return False
        if not self._moving_at:
            self._moving_at, self._said = now, False
        if now - self._moving_at > MOVING_S and not self._said:
            event(log, logging.WARNING, "policy files change without rest, the old policy stays")
            self._said = True
        if state != self._coming or not self._coming_at:
            self._coming, self._coming_at = state, now
            return False
        return now - self._coming_at >= REST_S

    def moved(self) -> None:
        """They changed while they were read: what rests is to be seen anew."""
        self._coming_at = 0.0

    def handled(self, state: FolderState) -> None:
        """They were read as they look so, right or wrong."""
        self._handled = state
        self._moving_at = self._coming_at = 0.0
