"""Writes events of a machine of a site: into the site's log, or into its own spool while that is
away.

    spool empty, log answers within `LOG_S`   → the log
    else                                      → the spool, from which the keeper hands it on

While anything waits there all that comes goes behind it, so the order stays.  Each event has a key:
one that the log took although its answer was lost is there once, when it comes again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.errors import StoreError
from oborona.feedback.events.model import EventReceipt, FeedbackEvent
from oborona.feedback.events.spool import FeedbackSpool

LOG_S: Final = 1.5  # that the log may take: doors wait a few seconds
KEY_BYTES: Final = 16
SPOOLED: Final = EventReceipt(0, new=True)
"""Of an event that waits in the spool: it has no number yet."""

log = logging.getLogger("oborona.events")


class EventRoute:
    """The way of one process's events into the log of a site, or the spool; for one event loop.

    Args:
        state: the state folder.
        clock: Unix seconds.
    """

    def __init__(self, state: Path, clock: Callable[[], float]) -> None:
        self._path = state / state_files.EVENTS_SPOOL
        self._clock = clock
        self._spool: FeedbackSpool | None = None
        self._away = False  # it was said that the log is
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="event spool")

    async def write(
        self,
        events: Sequence[FeedbackEvent],
        thread: ThreadPoolExecutor,
        write: Callable[[list[FeedbackEvent]], list[EventReceipt]],
    ) -> list[EventReceipt]:
        """Write events down; when this returns they survive the power going.

        Args:
            events: in the order in which they came.
            thread: on which the log is written.
            write: writes it.

        Raises:
            StoreError: neither the log nor the spool can be written.
        """
        loop = asyncio.get_running_loop()
        keyed = [_with_key(event) for event in events]
        if await loop.run_in_executor(self._thread, self._is_empty):
            writing = loop.run_in_executor(thread, write, keyed)
            await asyncio.wait({writing}, timeout=LOG_S)
            if not writing.done():
                writing.add_done_callback(_passed_over)
                self._tell("it does not answer")
            elif (error := writing.exception()) is None:
                self._tell("")
                return writing.result()
            elif isinstance(error, StoreError):
                self._tell(str(error))
            else:
                raise error
        await loop.run_in_executor(self._thread, self._add, keyed)
        return [SPOOLED] * len(keyed)

    async def close(self) -> None:
        """Let the file go."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown()

    def _tell(self, trouble: str) -> None:
        if trouble and not self._away:
            log.error("events wait in %s: the site's log: %s", self._path, trouble)
        elif self._away and not trouble:
            log.warning("events go into the site's log again")
        self._away = bool(trouble)

    def _is_empty(self) -> bool:
        if self._spool is None and not self._path.exists():
            return True
        return self._opened().is_empty()

    def _add(self, events: list[FeedbackEvent]) -> None:
        try:
            self._opened().add(events, now=self._clock())
        except StoreError:
            self._let_go()
            raise

    def _opened(self) -> FeedbackSpool:
        if self._spool is None:
            self._spool = FeedbackSpool(self._path)
        return self._spool

    def _let_go(self) -> None:
        if self._spool is not None:
            with suppress(StoreError):
                self._spool.close()
            self._spool = None


def _with_key(event: FeedbackEvent) -> FeedbackEvent:
    if event.key:
        return event
    return msgspec.structs.replace(event, key=secrets.token_bytes(KEY_BYTES))


def _passed_over(writing: asyncio.Future[list[EventReceipt]]) -> None:
    """Ask for the error of what came too late, which is told already."""
    if not writing.cancelled():
        writing.exception()
