"""Writes the events of many doors together: one transaction, and one wait for the disk, for all
that came while the last one was written.  In a site of several machines they go by
`event_route`.

`take` returns once the event is on the disk.  A failed write is reported to the caller, who may
retry; no acknowledged event is lost.  At most `WAITING` events and `WAITING_BYTES` wait; further
callers wait for room, `PATIENCE_S` at most.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from oborona.errors import StoreBusy, StoreError
from oborona.feedback.events.event_route import EventRoute
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import MOST_RAW, EventReceipt, FeedbackEvent

AT_ONCE: Final = 500  # events of a transaction: 20 ms
AT_ONCE_BYTES: Final = 8 << 20  # of a transaction: the trainer waits for it
WAITING: Final = 5_000  # events
WAITING_BYTES: Final = 64 << 20
PATIENCE_S: Final = 10.0  # for room, and for the disk together with that
AGAIN_S: Final = 1.0  # before a file that can't be opened is tried again


class _WaitingEvent(NamedTuple):
    event: FeedbackEvent
    done: asyncio.Future[EventReceipt]


class EventWriter:
    """Writes the events of one process's doors to the log; for one event loop.

    Use `async with EventWriter(path)`.

    Args:
        path: the log; its folder exists. A file that can't be opened is tried again with the next
            events.
        clock: Unix seconds.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.taken = 0  # events acknowledged since the start, duplicates included
        self.refused = 0  # events that could not be written
        self._clock = clock
        self._log: EventLog | None = None
        self._route: EventRoute | None = None  # of a machine that is not alone
        self._waiting: deque[_WaitingEvent] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Condition()
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="events")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="events")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def take(self, event: FeedbackEvent) -> EventReceipt:
        """Write an event down; when this returns it survives the power going.

        Raises:
            StoreError: it is not written, and may be handed in again; `StoreFull`: there is no room
                on the disk;
                `StoreBusy`: too many wait.
        """
        size = min(len(event.raw), MOST_RAW)
        try:
            async with asyncio.timeout(PATIENCE_S):
                if not self._has_room(size):
                    async with self._room:
                        await self._room.wait_for(lambda: self._closing or self._has_room(size))
                if self._closing or self._task is None:
                    raise StoreError(f"{self.path}: no more events are taken")
                waiting = _WaitingEvent(event, asyncio.get_running_loop().create_future())
                self._waiting.append(waiting)
                self._bytes += size
                self._wake.set()
                return await waiting.done
        except TimeoutError:
            self.refused += 1
            raise StoreBusy(
                f"{self.path}: could not be written for {PATIENCE_S:g} seconds; whether "
                f"this event was is not known"
            ) from None

    async def close(self) -> None:
        """Write what waits, and let the file go."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await self._task
            self._task = None
        self._thread.shutdown()

    def _has_room(self, size: int) -> bool:
        return not self._waiting or (
            len(self._waiting) < WAITING and self._bytes + size <= WAITING_BYTES
        )

    async def _run(self) -> None:
        """Write what waits, until closed."""
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while batch := self._batch():
                events = [waiting.event for waiting in batch]
                try:
                    receipts = await self._written(events)
                except Exception as error:  # noqa: BLE001 - the barrier of this task: without it no door answers again
                    self._refuse(batch, error)
                else:
                    self.taken += len(batch)
                    for waiting, receipt in zip(batch, receipts, strict=True):
                        if not waiting.done.done():  # whoever handed it in is still there
                            waiting.done.set_result(receipt)
                async with self._room:
                    self._room.notify_all()
            if self._closing:
                break
        await loop.run_in_executor(self._thread, self._let_go)
        if self._route is not None:
            await self._route.close()

    async def _written(self, events: list[FeedbackEvent]) -> list[EventReceipt]:
        """Write events down, wherever they go."""
        if EventLog.shared.link(self.path) is None:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._write, events)
        if self._route is None:
            self._route = EventRoute(self.path.parent, self._clock)
        return await self._route.write(events, self._thread, self._write)

    def _batch(self) -> list[_WaitingEvent]:
        """Return the next events to be written together.

        Those that nobody waits for any more are left out.
        """
        batch: list[_WaitingEvent] = []
        octets = 0
        while self._waiting and len(batch) < AT_ONCE and octets < AT_ONCE_BYTES:
            waiting = self._waiting.popleft()
            size = min(len(waiting.event.raw), MOST_RAW)
            self._bytes -= size
            if not waiting.done.done():
                octets += size
                batch.append(waiting)
        return batch

    def _refuse(self, batch: list[_WaitingEvent], error: Exception) -> None:
        self.refused += len(batch)
        for waiting in batch:
            if not waiting.done.done():
                waiting.done.set_exception(
                    error if isinstance(error, StoreError) else StoreError(f"{self.path}: {error}")
                )

    def _write(self, events: list[FeedbackEvent]) -> list[EventReceipt]:
        """Write events; on the thread."""
        if self._log is None:
            self._log = EventLog(self.path)
        try:
            return self._log.add(events, now=self._clock())
        except StoreError:
            self._let_go()  # it may have been moved away, or mended
            raise

    def _let_go(self) -> None:
        if self._log is not None:
            with suppress(StoreError):
                self._log.close()
            self._log = None
