"""An exit stack for the resources of a process: closed in reverse order, and a failure to close one
is logged and keeps no other from being closed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from inspect import isawaitable

from oborona.errors import StoreError
from oborona.telemetry.log import event


class LoggingExitStack(AsyncExitStack):
    """An exit stack of parts of which none keeps another from being closed.

    Args:
        log: gets what could not be closed.
    """

    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self._logger = log

    def add(
        self,
        close: Callable[[], Awaitable[None] | None],
        trouble: str,
        level: int = logging.ERROR,
    ) -> None:
        """Have a part closed before those that were added earlier.

        Args:
            close: closes it; what it raises is logged, and goes no further.
            trouble: the words of the log where it can't be closed.
            level: of those words, of a store that can't be written; a fault is an error.
        """
        self.push_async_callback(partial(self._close, close, trouble, level))

    async def _close(
        self, close: Callable[[], Awaitable[None] | None], trouble: str, level: int
    ) -> None:
        try:
            closing = close()
            if isawaitable(closing):
                await closing
        except StoreError as error:
            event(self._logger, level, trouble, error=error)
        except Exception:  # a fault of one part: the others are still to be closed
            self._logger.exception(trouble)
