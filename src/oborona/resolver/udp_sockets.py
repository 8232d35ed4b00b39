"""UDP sockets, each connected to one server, so that the kernel lets in what comes from its address
and port alone.

Towards a server on this machine one socket is kept for all questions. Towards any other each
question has a socket of its own: its port is drawn anew by the kernel, and who wants to answer in
the server's place has to guess it beside the id (RFC 5452 section 9.2).
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from oborona.config import ResolverAddress
from oborona.resolver.stats import ResolverStats

# octets: more than what we say we take, a longer one arrives cut and is refused as broken
DATAGRAM: Final = 4096
AT_ONCE: Final = 32  # datagrams read before others have their turn

DatagramCallback = Callable[[bytes | None], None]
"""Called with each datagram that has the question's id, or with None: nobody listens there."""


@cache
def _where(server: ResolverAddress) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    """Return family and address as the system wants them; OSError when it has no such scope."""
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    family, *_, address = socket.getaddrinfo(
        server.host, server.port, type=socket.SOCK_DGRAM, flags=flags
    )[0]
    return family, address


class UdpSocket:
    """A connected socket.

    Args:
        server: whom to ask.
        loop: that reads from it.
        stats: of the resolver.

    Raises:
        OSError: no socket, no route.
    """

    def __init__(
        self, server: ResolverAddress, loop: asyncio.AbstractEventLoop, stats: ResolverStats
    ) -> None:
        self._loop = loop
        self._stats = stats
        self._waiting: dict[bytes, DatagramCallback] = {}
        family, address = _where(server)
        self._sock = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            self._sock.connect(address)
        except OSError:
            self._sock.close()
            raise
        loop.add_reader(self._sock, self._readable)

    def send(self, message: bytes, callback: DatagramCallback) -> bytes:
        """Send a message behind an id that no other has; return the id.

        Args:
            message: without its id.
            callback: called for answers until `forget`.

        Raises:
            OSError: it could not be sent.
        """
        ident = os.urandom(2)
        while ident in self._waiting:
            ident = os.urandom(2)
        try:
            self._sock.send(ident + message)
        except ConnectionRefusedError:  # of an earlier datagram, told now; this one was not sent
            self._sock.send(ident + message)
        self._waiting[ident] = callback
        return ident

    def forget(self, ident: bytes) -> None:
        """Call for a question no more."""
        self._waiting.pop(ident, None)

    def close(self) -> None:
        """Close the socket."""
        self._loop.remove_reader(self._sock)
        self._sock.close()

    def _listen_again(self) -> None:
        """Go on reading after an error: libuv reads from a socket no more once the kernel has
        reported one (POLLERR).
        """
        self._loop.remove_reader(self._sock)
        self._loop.add_reader(self._sock, self._readable)

    def _readable(self) -> None:
        for number in range(AT_ONCE):
            try:
                data = self._sock.recv(DATAGRAM)
            except BlockingIOError:
                if not number:  # woken for an error that a `send` was told of meanwhile
                    self._listen_again()
                return
            except OSError:  # ICMP: nobody listens there
                self._listen_again()
                for callback in list(self._waiting.values()):
                    callback(None)
                return
            heard_by = self._waiting.get(data[:2])
            if heard_by is None:
                self._stats.ignored += 1
            else:
                heard_by(data)
            if self._sock.fileno() < 0:  # that was the answer, and the socket's last
                return


class UdpSocketPool:
    """The sockets of a resolver.

    Args:
        servers: that are asked.
        loop: that reads from them.
        stats: of the resolver.
    """

    def __init__(
        self,
        servers: Sequence[ResolverAddress],
        loop: asyncio.AbstractEventLoop,
        stats: ResolverStats,
    ) -> None:
        self._loop = loop
        self._stats = stats
        self._near = frozenset(server for server in servers if server.loopback)
        self._kept: dict[ResolverAddress, UdpSocket] = {}

    def take(self, server: ResolverAddress) -> UdpSocket:
        """Return a socket to a server.

        Raises:
            OSError: none can be had.
        """
        link = self._kept.get(server)
        if link is None:
            link = UdpSocket(server, self._loop, self._stats)
            if server in self._near:
                self._kept[server] = link
        return link

    def give_back(self, server: ResolverAddress, link: UdpSocket) -> None:
        """Close it, unless it is kept."""
        if self._kept.get(server) is not link:
            link.close()

    def close(self) -> None:
        """Close all that are kept."""
        for link in self._kept.values():
            link.close()
        self._kept.clear()
