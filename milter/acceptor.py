"""A listening socket on the event loop: connections accepted, counted, closed when idle, and drained.

Accepting is non-blocking and takes one connection per turn of the loop: of the workers on one inherited socket, the one with
time to spare takes the next, and none can hang in accept().  The socket stays the caller's: it is neither closed nor unlinked, whoever stops first.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from abc import ABC, abstractmethod
from typing import Final, Protocol, cast

EXHAUSTED_S: Final = 1.0  # pause of accepting when the process has no file descriptor or memory left
IDLE_CHECKS: Final = 4  # times per idle limit that connections are looked at

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Accepted(Protocol):
    """A connection, as its server sees it; an asyncio.Protocol."""

    def close_if_between(self) -> None:
        """Close if the peer waits for nothing."""
        ...

    def close_if_idle(self, due: float) -> None:
        """Close if nothing came since `due` (loop time) and no answer is sought."""
        ...

    def cut(self) -> None:
        """Close without ceremony."""
        ...


class Acceptor(ABC):
    """Serves connections of one listening socket.

    Args:
        idle_s: seconds without a byte after which a connection is closed.
        max_sessions: connections at once; further ones wait.
        log: of the protocol.
    """

    def __init__(self, *, idle_s: float, max_sessions: int, log: logging.Logger) -> None:
        self._idle_s = idle_s
        self._max_sessions = max_sessions
        self._log = log
        self._connections: set[Accepted] = set()
        self._arrivals: set[asyncio.Task[None]] = set()
        self._draining = False
        self._hearing = False
        self._empty = asyncio.Event()
        self._empty.set()

    @abstractmethod
    def _connection(self) -> Accepted:
        """Return the protocol of a new connection."""

    @property
    def sessions(self) -> int:
        """Connections open now."""
        return len(self._connections)

    async def start(self, sock: socket.socket) -> None:
        """Accept on a listening socket, which stays the caller's: it is neither closed nor unlinked here."""
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        sock.setblocking(False)
        self._hear(on=True)
        self._idle_timer = self._loop.call_later(self._idle_s / IDLE_CHECKS, self._close_idle)

    async def drain(self, grace_s: float) -> None:
        """Accept no more, wait for sessions, then cut what is left.

        A connection whose peer waits for nothing is closed at once; a milter connection that has had no message yet is
        waited for.

        Args:
            grace_s: seconds to wait at most.
        """
        self._draining = True
        self._hear(on=False)
        self._idle_timer.cancel()
        if self._arrivals:
            await asyncio.wait(self._arrivals)
        for connection in list(self._connections):
            connection.close_if_between()
        try:
            async with asyncio.timeout(grace_s):
                await self._empty.wait()
        except TimeoutError:
            self._log.warning("%d sessions cut after a grace of %g s", self.sessions, grace_s)
            for connection in list(self._connections):
                connection.cut()
            await asyncio.sleep(0)

    @property
    def draining(self) -> bool:
        """Whether connections end with their message."""
        return self._draining

    def left(self, stream: Accepted) -> None:
        """Count a connection out."""
        self._connections.discard(stream)
        self._resume()
        if not self._connections:
            self._empty.set()

    def _accept(self) -> None:
        """Take one connection; the loop comes back at once if more are waiting."""
        try:
            peer, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another worker was faster, or the mail server changed its mind
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            self._log.error("cannot accept: %s, pausing for %g s", error.strerror, EXHAUSTED_S)
            self._hear(on=False)
            self._loop.call_later(EXHAUSTED_S, self._resume)
            return
        peer.setblocking(False)
        if peer.family != socket.AF_UNIX:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = self._connection()
        self._connections.add(connection)
        self._empty.clear()
        if self.sessions >= self._max_sessions:
            self._log.warning("%d sessions are open: the next ones wait", self.sessions)
            self._hear(on=False)
        arrival = self._loop.create_task(self._admit(connection, peer))
        self._arrivals.add(arrival)
        arrival.add_done_callback(self._arrivals.discard)

    async def _admit(self, connection: Accepted, peer: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: cast("asyncio.Protocol", connection), peer)
        except OSError as error:
            self._log.warning("connection lost on arrival: %s", error)
            peer.close()
            self.left(connection)

    def _resume(self) -> None:
        if not self._draining and self.sessions < self._max_sessions:
            self._hear(on=True)

    def _hear(self, *, on: bool) -> None:
        """Begin or cease to accept; what comes meanwhile waits in the kernel, or goes to another worker."""
        if on and not self._hearing:
            self._loop.add_reader(self._socket.fileno(), self._accept)
        elif self._hearing and not on:
            self._loop.remove_reader(self._socket.fileno())
        self._hearing = on

    def _close_idle(self) -> None:
        due = self._loop.time() - self._idle_s
        for connection in list(self._connections):
            connection.close_if_idle(due)
        self._idle_timer = self._loop.call_later(self._idle_s / IDLE_CHECKS, self._close_idle)
