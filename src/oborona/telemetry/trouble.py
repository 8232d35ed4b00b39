"""A trouble that lasts: logged once when it begins, and once when it is over."""

from __future__ import annotations

import logging

from oborona.telemetry.log import event

log = logging.getLogger("oborona.recheck")


class TroubleNotice:
    """The state of one part that may be in trouble.

    Args:
        failing: logged when it begins.
        well: logged when it is over.

    Attributes:
        now: what is wrong; empty = nothing.
    """

    def __init__(self, failing: str, well: str) -> None:
        self._failing = failing
        self._well = well
        self.now = ""

    def failed(self, error: Exception) -> None:
        """Tell it, unless the same was told."""
        if str(error) != self.now:
            event(log, logging.ERROR, self._failing, error=error)
        self.now = str(error) or type(error).__name__

    def over(self) -> None:
        """Tell that it works again, if it did not."""
        if self.now:
            event(log, logging.WARNING, self._well)
        self.now = ""
