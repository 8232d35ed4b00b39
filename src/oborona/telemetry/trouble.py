"""A trouble that lasts: logged once when it begins, and once when it is over."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from oborona.errors import OboronaError
from oborona.telemetry.log import event

log = logging.getLogger("oborona.trouble")


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

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Do something whose failure ends nothing else: it is told, once, and so is that it works
        again.  A fault of ours is told with its traceback.
        """
        try:
            yield
        except (OboronaError, OSError) as error:
            self.failed(error)
        except Exception as error:
            if _words(error) != self.now:
                log.exception("fault: %s", self._failing)
            self.failed(error)
        else:
            self.over()

    def failed(self, error: Exception) -> None:
        """Tell it, unless the same was told."""
        if _words(error) != self.now:
            event(log, logging.ERROR, self._failing, error=error)
        self.now = _words(error)

    def over(self) -> None:
        """Tell that it works again, if it did not."""
        if self.now:
            event(log, logging.WARNING, self._well)
        self.now = ""


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
