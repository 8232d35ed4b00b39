"""Hands on to the site's log what waits in a machine's spool of events, in the order in which it
came, and each event once.
"""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.errors import StoreError
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.spool import FeedbackSpool
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 0.5
AGAIN_S: Final = 2.0  # before another try, where the log is away
AT_ONCE: Final = 500  # events of a transaction
AT_ONCE_OCTETS: Final = 8 << 20

log = logging.getLogger("oborona.events")


class EventDrain:
    """The spool of a state folder, and the way out of it; for one thread.

    Args:
        state: the state folder.

    Attributes:
        waiting: events that wait, by the last look.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._opened: tuple[ExitStack, FeedbackSpool, EventLog] | None = None
        self._spool = state / state_files.EVENTS_SPOOL
        self.waiting = 0
        self.trouble = TroubleNotice(
            "events that wait do not go into the site's log", "what waited goes into the site's log"
        )

    def run(self, stop: threading.Event) -> None:
        """Hand on until told to stop."""
        try:
            while not stop.is_set():
                busy = False
                with self.trouble.noted():
                    busy = self.step()
                if not busy:
                    stop.wait(AGAIN_S if self.trouble.now else LOOK_S)
        finally:
            self.close()

    def step(self) -> bool:
        """Hand on some events; return whether more may wait.

        Raises:
            StoreError: the log or the spool can't be used; what was not handed on stays.
        """
        if not self._spool.exists():
            self.close()
            return False
        try:
            return self._handed_on()
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Let the files go."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened[0].close()

    def _handed_on(self) -> bool:
        if self._opened is None:
            with ExitStack() as stack:
                spool = stack.enter_context(FeedbackSpool(self._spool, make=False))
                self.waiting = spool.waiting()
                if not self.waiting:
                    return False
                events = stack.enter_context(EventLog(self._state / state_files.EVENTS))
                self._opened = stack.pop_all(), spool, events
        _, spool, events = self._opened
        waiting = spool.first(AT_ONCE, AT_ONCE_OCTETS)
        if waiting:
            whole = [(one.event, one.heard) for one in waiting if one.event is not None]
            if len(whole) < len(waiting):
                log.error(
                    "%s: %d events are damaged, and lost", self._spool, len(waiting) - len(whole)
                )
            events.add([event for event, _ in whole], now=0.0, heard=[heard for _, heard in whole])
            spool.drop(waiting[-1].place)
        self.waiting = spool.waiting()
        return bool(self.waiting)
