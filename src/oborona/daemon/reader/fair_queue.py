"""A queue for a limited number of concurrent turns: urgent ones, whose answer a mail server waits
for, come first, and the queue has a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairQueueFull(Exception):  # noqa: N818 - reads as what happened
    """The queue is full."""


class QueueTurn:
    """A turn that waits or runs."""

    __slots__ = ("_called", "urgent", "weight")

    def __init__(self, weight: int, *, urgent: bool) -> None:
        self.urgent = urgent  # may become so while it waits
        self.weight = weight
        self._called: asyncio.Future[None] | None = None


class FairQueue:
    """Hands out turns on one event loop.

    Args:
        at_once: that go together.
        most: that wait.
        weight: of all that wait.
    """

    def __init__(self, *, at_once: int, most: int, weight: int) -> None:
        self._free = at_once
        self._most = most
        self._weight = weight
        self._waiting: list[QueueTurn] = []

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @asynccontextmanager
    async def take(self, turn: QueueTurn) -> AsyncIterator[None]:
        """Wait for a turn, and have it.

        Raises:
            Full: too many wait.
        """
        if not self._free:
            await self._wait(turn)
        else:
            self._free -= 1
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, turn: QueueTurn) -> None:
        weight = turn.weight + sum(waiting.weight for waiting in self._waiting)
        if len(self._waiting) >= self._most or weight > self._weight:
            raise FairQueueFull
        turn._called = asyncio.get_running_loop().create_future()  # noqa: SLF001 - of this module
        self._waiting.append(turn)
        try:
            await turn._called  # noqa: SLF001
        except BaseException:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn._called.cancelled():  # noqa: SLF001 - called and cancelled in one moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        self._free += 1
        while self._waiting:
            place = next((place for place, turn in enumerate(self._waiting) if turn.urgent), 0)
            called = self._waiting.pop(place)._called  # noqa: SLF001
            if called is not None and not called.done():
                self._free -= 1
                called.set_result(None)
                return
