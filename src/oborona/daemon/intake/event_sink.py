"""The sink of the intake's events: each is written to the log of events within a deadline, or
refused; both are counted.

Reads and deletions are accepted without waiting: at most `IN_PASSING` of them are on their way to
the disk; further ones are dropped and counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Final, Protocol

from oborona.errors import StoreBusy, StoreError
from oborona.feedback.events.model import EventReceipt, FeedbackEvent
from oborona.feedback.events.quota import Quota
from oborona.metrics import Counter, Gauge
from oborona.telemetry.log import event as say

IN_PASSING: Final = 2_000  # events; a fifth of a second for the disk

EVENTS: Final = Counter(
    "oborona_intake_events",
    "What people, reports and traps said, by way, what and outcome; new: written down; known: it "
    "was before; failed: could not be,"
    " and they were told to try again; dropped: too many reads at once.",
    ("way", "what", "outcome"),
)
REFUSED: Final = Counter(
    "oborona_intake_refused",
    "Requests that were no event, by listener and reason.",
    ("door", "reason"),
)
STUCK: Final = Gauge(
    "oborona_intake_stuck", "1 while nothing that people say can be written down.", ()
)

log = logging.getLogger("oborona.intake")


class EventRecorder(Protocol):
    """The writer of events, `oborona.feedback.events.event_writer.EventWriter`."""

    async def take(self, event: FeedbackEvent) -> EventReceipt:
        """Return once it is on the disk.

        Raises:
            StoreError: it is not.
        """
        ...


class EventSink:
    """Passes events from the doors to the log of events.

    Args:
        taking: writes them down.
        deadline_s: that a door waits for it.
    """

    def __init__(self, taking: EventRecorder, deadline_s: float) -> None:
        self._taking = taking
        self._deadline_s = deadline_s
        self._rations = Quota()
        self._passing: set[asyncio.Task[None]] = set()
        self._trouble = ""
        STUCK.set_function(lambda: {(): bool(self._trouble)})

    @property
    def trouble(self) -> str:
        """Why nothing is written down; empty = it is."""
        return self._trouble

    async def take(self, event: FeedbackEvent) -> EventReceipt:
        """Write an event down; when this returns it survives the power going.

        Raises:
            StoreError: it was not within the deadline; who hands it in may do so again.
        """
        try:
            async with asyncio.timeout(self._deadline_s):
                receipt = await self._taking.take(self._rations.cut(event, time.monotonic()))
        except TimeoutError:
            error = StoreBusy(f"not written within {self._deadline_s:g} s")
            self._failed(event, error)
            raise error from None
        except StoreError as error:
            self._failed(event, error)
            raise
        if self._trouble:
            say(log, logging.WARNING, "reports are stored again")
            self._trouble = ""
        self._count(event, "new" if receipt.new else "known")
        return receipt

    def pass_on(self, event: FeedbackEvent) -> bool:
        """Hand an event in that is not waited for; return whether there was room."""
        if len(self._passing) >= IN_PASSING:
            self._count(event, "dropped")
            return False
        task = asyncio.create_task(self._pass(event))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
        return True

    async def close(self) -> None:
        """Wait for what was handed in."""
        if self._passing:
            await asyncio.wait(self._passing)

    def refuse(self, door: str, why: str) -> None:
        """Count a request that was no event, or came from somebody who may not."""
        REFUSED.inc(door, why)

    async def _pass(self, event: FeedbackEvent) -> None:
        with suppress(StoreError):  # it is counted, and the log was told
            await self.take(event)

    def _count(self, event: FeedbackEvent, outcome: str) -> None:
        EVENTS.inc(event.way, event.what, outcome)

    def _failed(self, event: FeedbackEvent, error: StoreError) -> None:
        self._count(event, "failed")
        if not self._trouble:
            say(
                log,
                logging.ERROR,
                "reports are not stored: their senders are told to try again",
                error=error,
            )
        self._trouble = str(error)
