"""A listening socket on the event loop: connections accepted, counted, closed when idle, and
drained.

Accepting is non-blocking and takes one connection per turn of the loop: of the workers on one
inherited socket, the one with time to spare takes the next, and none can hang in accept().  The
socket stays the caller's: it is neither closed nor unlinked, whoever stops first.

A full door either lets new connections wait in the kernel, or tells them in its protocol's words
that it is busy: only after a moment, in which another worker that has room takes them first.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Final, Protocol, cast

from oborona.doors.client_key import client_key, is_in_networks
from oborona.doors.overload import BusyWords, OverloadReplies, ThrottledLog
from oborona.reputation.networks import networks

# pause of accepting when the process has no file descriptor or memory left
EXHAUSTED_S: Final = 1.0
IDLE_CHECKS: Final = 4  # times per idle limit that connections are looked at
REST_LOOKS: Final = 10  # while somebody is connected, whether they are gone
YIELD_S: Final = 0.05  # others' time to take a connection before a full worker turns it away
HANDSHAKE_S: Final = 5.0  # for TLS
TURNED_AT_ONCE: Final = 64  # of those who wait, after each such time

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class AcceptedConnection(Protocol):
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
        max_sessions: connections at once; further ones are told `busy`, or wait where that is
            None.
        log: of the protocol.
        max_per_client: connections at once of one client, further ones are told `busy` and closed;
            0: any number.
        busy: returns what they are told; None: nothing.
        note: counts who is turned away: "busy", "crowded" where the client has too many
            connections, "foreign" where it may have none.
        allowed: networks whose clients may connect, with spaces between; empty: all. Who opens a
            socket file always may.
        tls: speaks it from the start; None: nobody does.
    """

    def __init__(
        self,
        *,
        idle_s: float,
        max_sessions: int,
        log: logging.Logger,
        max_per_client: int = 0,
        busy: BusyWords | None = None,
        note: Callable[[str], None] = lambda _outcome: None,
        allowed: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self._allowed = networks(allowed) if allowed else None
        self._idle_s = idle_s
        self._max_sessions = max_sessions
        self._max_per_client = max_per_client
        self._tells = busy is not None
        self._note = note
        self._log = log
        self._rarely = ThrottledLog(log)
        self._turned_away = OverloadReplies(busy)
        self._turning: asyncio.TimerHandle | None = None  # runs while the door is full
        self._connections: dict[AcceptedConnection, str] = {}  # of what client
        self._clients: Counter[str] = Counter()  # connections of each; empty where nobody asks
        self._arrivals: set[asyncio.Task[None]] = set()
        self._draining = False
        self._hearing = False
        self._empty = asyncio.Event()
        self._empty.set()
        self._quiet_since = 0.0  # of the loop's clock; while nobody is connected

    @abstractmethod
    def _connection(self) -> AcceptedConnection:
        """Return the protocol of a new connection."""

    @property
    def sessions(self) -> int:
        """Connections open now."""
        return len(self._connections)

    async def start(self, sock: socket.socket) -> None:
        """Accept on a listening socket, which stays the caller's: it is neither closed nor unlinked
        here.
        """
        self._loop = asyncio.get_running_loop()
        self._quiet_since = self._loop.time()
        self._socket = sock
        sock.setblocking(False)
        self._hear(on=True)
        self._idle_timer = self._loop.call_later(self._idle_s / IDLE_CHECKS, self._close_idle)

    @property
    def in_use(self) -> bool:
        """Whether anybody is connected."""
        return bool(self._connections)

    async def rested(self, after_s: float) -> None:
        """Return once nobody has been connected for so long."""
        while True:
            left = self._quiet_since + after_s - self._loop.time()
            if left <= 0 and not self.in_use:
                return
            await asyncio.sleep(max(left, after_s / REST_LOOKS))

    async def drain(self, grace_s: float) -> None:
        """Accept no more, wait for sessions, then cut what is left.

        A connection whose peer waits for nothing is closed at once; a milter connection that has
        had no message yet is waited for.

        Args:
            grace_s: seconds to wait at most.
        """
        self._draining = True
        self._hear(on=False)
        self._idle_timer.cancel()
        if self._turning is not None:
            self._turning.cancel()
        self._turned_away.cut()
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

    def left(self, stream: AcceptedConnection) -> None:
        """Count a connection out."""
        client = self._connections.pop(stream, "")
        if client:
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]
        self._resume()
        if not self._connections:
            self._quiet_since = self._loop.time()
            self._empty.set()

    def _accept(self) -> None:
        """Take one connection; the loop comes back at once if more are waiting."""
        peer = self._next()
        if peer is None:
            return
        if self._allowed is not None and not is_in_networks(peer, self._allowed):
            self._note("foreign")
            self._say(
                "foreign",
                (
                    f"{client_key(peer)} may not connect: it is in none of the networks "
                    f"that are allowed"
                ),
            )
            peer.close()
            return
        client = self._limited(peer) if self._max_per_client else ""
        if client and self._clients[client] >= self._max_per_client:
            self._turn_away(
                peer, "crowded", f"{client} has {self._max_per_client} connections and gets no more"
            )
            return
        connection = self._connection()
        self._connections[connection] = client
        if client:
            self._clients[client] += 1
        self._empty.clear()
        if self.sessions >= self._max_sessions:
            self._hear(on=False)
            if not self._tells:
                self._say("full", f"{self.sessions} sessions are open: the next ones wait")
            elif self._turning is None:
                self._turning = self._loop.call_later(YIELD_S, self._turn_all_away)
        arrival = self._loop.create_task(self._admit(connection, peer))
        self._arrivals.add(arrival)
        arrival.add_done_callback(self._arrivals.discard)

    def _limited(self, peer: socket.socket) -> str:
        """Return the name under which a client's connections are counted.

        Empty: it may have any number.
        """
        return client_key(peer)

    def _next(self) -> socket.socket | None:
        """Return who waits at the door, if anybody does."""
        try:
            peer, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return None  # another worker was faster, or the mail server changed its mind
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            words = f"cannot accept: {error.strerror}, pausing for {EXHAUSTED_S:g} s"
            self._rarely.say("exhausted", words, self._loop.time(), level=logging.ERROR)
            self._hear(on=False)
            self._loop.call_later(EXHAUSTED_S, self._resume)
            return None
        peer.setblocking(False)
        if peer.family != socket.AF_UNIX:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return peer

    def _turn_all_away(self) -> None:
        """The door is full: tell those who wait, whom no other worker took."""
        self._turning = None
        for _ in range(TURNED_AT_ONCE):
            if self.sessions < self._max_sessions or (peer := self._next()) is None:
                break
            self._turn_away(
                peer,
                "busy",
                f"{self.sessions} sessions are open: the next ones are told to come again",
            )
        if self.sessions >= self._max_sessions and not self._draining:
            self._turning = self._loop.call_later(YIELD_S, self._turn_all_away)

    def _turn_away(self, peer: socket.socket, outcome: str, words: str) -> None:
        self._note(outcome)
        self._say(outcome, words)
        self._turned_away.tell(peer)

    def _say(self, outcome: str, words: str) -> None:
        self._rarely.say(outcome, words, self._loop.time())

    async def _admit(self, connection: AcceptedConnection, peer: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                lambda: cast("asyncio.Protocol", connection),
                peer,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_S,
            )
        except OSError as error:
            self._log.warning("connection lost on arrival: %s", error)
            peer.close()
            self.left(connection)

    def _resume(self) -> None:
        if not self._draining and self.sessions < self._max_sessions:
            self._hear(on=True)

    def _hear(self, *, on: bool) -> None:
        """Begin or cease to accept.

        What comes meanwhile waits in the kernel, or goes to another worker.
        """
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
