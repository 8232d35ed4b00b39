"""What stands for the log of events where a test looks at a door."""

from __future__ import annotations

import asyncio

from oborona import secret
from oborona.errors import StoreError
from oborona.feedback.events.model import EventReceipt, FeedbackEvent

KEY = secret.UNKEYED.signature


class Memory:
    """Keeps events in memory.

    `trouble` is raised instead, and while `gate` is shut nothing is answered.
    """

    def __init__(self) -> None:
        self.events: list[FeedbackEvent] = []
        self.trouble: StoreError | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Semaphore(0)  # released by each that comes

    async def take(self, event: FeedbackEvent) -> EventReceipt:
        self.asked.release()
        await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        for place, known in enumerate(self.events, 1):
            if event.key and known.key == event.key:
                return EventReceipt(place, new=False)
        self.events.append(event)
        return EventReceipt(len(self.events), new=True)
