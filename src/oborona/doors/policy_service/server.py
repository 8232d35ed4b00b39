"""The policy service on the event loop: requests of Postfix's check_policy_service, put to doors
one after the other.

In trouble no answer is given: a broken request, a door that raises or hangs, and Postfix's
default_action decides. Postfix keeps a connection open between requests, so that a worker that
drains closes those at once where nothing is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from oborona.doors.acceptor import Acceptor
from oborona.doors.handler import ConnectionHandlerFactory
from oborona.doors.policy_service.codec import PolicyServiceCodec, answer
from oborona.doors.policy_service.conversation import PolicyConversation
from oborona.doors.stream import StreamConnection, StreamServer

HALF_S: Final = 10.0  # Postfix writes a request, and reads the answer, in one go

log = logging.getLogger("oborona.policy_service")


class PolicyServiceServer(Acceptor):
    """Serves policy connections of one listening socket.

    Args:
        handler_factory: makes the door of each SMTP session.
        idle_s: seconds without a byte after which a connection is closed.
        max_connections: at once; further ones wait.
        guard_s: seconds that a door has for one request, whose stages have deadlines of their own.
        half_s: seconds for the rest of a request that has begun, and for the peer to take its
            answers.
        max_per_client: connections at once of one client; further ones are closed.
        note: counts these.
        allowed: networks whose clients may connect; empty: all.
        ends: doors are told that a message is whole.
    """

    def __init__(
        self,
        handler_factory: ConnectionHandlerFactory,
        *,
        idle_s: float,
        max_connections: int,
        guard_s: float,
        half_s: float = HALF_S,
        max_per_client: int = 0,
        note: Callable[[str], None] = lambda _outcome: None,
        allowed: str = "",
        ends: bool = False,
    ) -> None:
        super().__init__(
            idle_s=idle_s,
            max_sessions=max_connections,
            log=log,
            max_per_client=max_per_client,
            note=note,
            allowed=allowed,
        )
        self._door_factory = handler_factory
        self._guard_s = guard_s
        self._half_s = half_s
        self._ends = ends

    def _connection(self) -> StreamConnection:
        conversation = PolicyConversation(self._door_factory, ends=self._ends)
        return _PolicyConnection(self, conversation, guard_s=self._guard_s, half_s=self._half_s)


class _PolicyConnection(StreamConnection):
    """One policy connection."""

    def __init__(
        self,
        server: StreamServer,
        conversation: PolicyConversation,
        *,
        guard_s: float,
        half_s: float,
    ) -> None:
        super().__init__(server, log, half_s=half_s)
        self._conversation = conversation
        self._guard_s = guard_s
        self._codec = PolicyServiceCodec()

    @property
    def _between(self) -> bool:
        return not self._partial

    @property
    def _partial(self) -> bool:
        return self._codec.partial

    async def _take(self, data: bytes) -> None:
        for request in self._codec.feed(data):
            self._whole()
            async with asyncio.timeout(self._guard_s):
                reply = await self._conversation.ask(request)
            self._transport.write(answer(reply))
            await self._wait_until_read()
            if self._closing:
                return

    def _farewell(self) -> None:
        self._conversation.close()
