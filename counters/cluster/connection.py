"""A connection to one node for an event loop: questions are sent at once, answers come in their
order.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import cast

import hiredis

from oborona.counters.cluster.wire import BROKEN, Reply


class NodeConnection(asyncio.Protocol):
    """One connection; once it is lost it is of no more use."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._owed: deque[tuple[float, int, list[Reply], asyncio.Future[list[Reply]]]] = deque()
        self._transport: asyncio.WriteTransport | None = None

    @property
    def usable(self) -> bool:
        """Whether it is open."""
        return self._transport is not None

    def oldest_unanswered(self) -> float | None:
        """When the oldest question was asked that has no answer yet, monotonic.

        None when there is none.
        """
        return self._owed[0][0] if self._owed else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # of uvloop: no subclass, and the same
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while self._owed:
                _asked, count, replies, future = self._owed[0]
                while len(replies) < count:
                    answer = self._reader.gets()
                    if answer is False:
                        return
                    replies.append(answer)
                self._owed.popleft()
                if not future.done():
                    future.set_result(replies)
        except BROKEN:
            self.give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        while self._owed:
            *_, future = self._owed.popleft()
            if not future.done():
                future.set_result([])  # no answer

    def ask(self, commands: bytes, count: int) -> asyncio.Future[list[Reply]]:
        """Send packed commands.

        The future gives their answers, or fewer when the connection is lost.
        """
        future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
        if self._transport is None:
            future.set_result([])
        else:
            self._owed.append((time.monotonic(), count, [], future))
            self._transport.write(commands)
        return future

    def give_up(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()
