"""The policy service on the event loop: requests of Postfix's check_policy_service, put to doors one after the other.

In trouble no answer is given: a broken request, a door that raises or hangs, and Postfix's default_action decides.
Postfix keeps a connection open between requests, so that a worker that drains closes those at once where nothing is asked.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from oborona.milter.acceptor import Acceptor
from oborona.milter.door import DoorFactory
from oborona.milter.policy_service.codec import Codec, answer
from oborona.milter.policy_service.conversation import Conversation
from oborona.milter.stream import Counting, Stream

HALF_S: Final = 10.0  # Postfix writes a request, and reads the answer, in one go

log = logging.getLogger("oborona.policy_service")


class PolicyServer(Acceptor):
    """Serves policy connections of one listening socket.

    Args:
        door_factory: makes the door of each SMTP session.
        idle_s: seconds without a byte after which a connection is closed.
        max_connections: at once; further ones wait.
        guard_s: seconds that a door has for one request, whose stages have deadlines of their own.
        half_s: seconds for the rest of a request that has begun, and for the peer to take its answers.
    """

    def __init__(
        self,
        door_factory: DoorFactory,
        *,
        idle_s: float,
        max_connections: int,
        guard_s: float,
        half_s: float = HALF_S,
    ) -> None:
        super().__init__(idle_s=idle_s, max_sessions=max_connections, log=log)
        self._door_factory = door_factory
        self._guard_s = guard_s
        self._half_s = half_s

    def _connection(self) -> Stream:
        return _Connection(self, Conversation(self._door_factory), guard_s=self._guard_s, half_s=self._half_s)


class _Connection(Stream):
    """One policy connection."""

    def __init__(
        self, server: Counting, conversation: Conversation, *, guard_s: float, half_s: float
    ) -> None:
        super().__init__(server, log)
        self._conversation = conversation
        self._guard_s = guard_s
        self._half_s = half_s
        self._codec = Codec()
        self._half: asyncio.TimerHandle | None = None  # runs while a request has begun
        self._writable = asyncio.Event()
        self._writable.set()

    def pause_writing(self) -> None:
        """The peer does not read: answer no more."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It reads again."""
        self._writable.set()

    @property
    def _between(self) -> bool:
        return not self._codec.partial

    async def _take(self, data: bytes) -> None:
        for request in self._codec.feed(data):
            self._stop_timer()
            async with asyncio.timeout(self._guard_s):
                reply = await self._conversation.ask(request)
            self._transport.write(answer(reply))
            await self._taken()
            if self._closing:
                return
        if self._codec.partial and self._half is None:
            self._half = self._loop.call_later(self._half_s, self._too_late)

    async def _taken(self) -> None:
        """Wait for a peer that leaves too many answers unread; cut it off if it takes none."""
        if self._writable.is_set():
            return
        try:
            async with asyncio.timeout(self._half_s):
                await self._writable.wait()
        except TimeoutError:
            log.warning("connection cut: answers are not read")
            self.cut()

    def _too_late(self) -> None:
        log.warning("connection closed: half a request, and no more for %g s", self._half_s)
        self._close()

    def _stop_timer(self) -> None:
        if self._half is not None:
            self._half.cancel()
            self._half = None

    def _farewell(self) -> None:
        self._stop_timer()
        self._conversation.close()
