"""One question on its way to the servers, until one of them answers or its time is over.

Servers have their turns one behind the other: each gets `TURN` of the time that is left, the last
all of it. Who has had its turn is still listened to; an answer that comes late is as good. A server
that says it can't answer (SERVFAIL, REFUSED, nonsense) ends its turn at once and is not asked
again. Messages with another id or question are none of ours: the wait goes on, or anyone could end
it. An answer that was cut to fit its datagram is fetched over TCP from the same server.

Limits: a server that does not know EDNS (RFC 6891) and says FORMERR to it is of no use to us.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from oborona.config import ResolverAddress
from oborona.dns import DnsType
from oborona.resolver import tcp, wire
from oborona.resolver.names import MalformedDnsMessage
from oborona.resolver.server_health import ServerHealth
from oborona.resolver.stats import ResolverStats
from oborona.resolver.udp_sockets import UdpSocket, UdpSocketPool

TURN: Final = 0.4  # of the time left
TIMEOUT: Final = "timeout"
MALFORMED: Final = "malformed"
UNREACHABLE: Final = "unreachable"


class DnsExchange:
    """One question; lives once.

    Args:
        question: section of the message.
        kind: of record.
        links, standing, stats: of the resolver.
    """

    def __init__(
        self,
        question: bytes,
        kind: DnsType,
        *,
        links: UdpSocketPool,
        standing: ServerHealth,
        stats: ResolverStats,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._asked = question
        self._message = wire.message(question)
        self._kind = kind
        self._links = links
        self._standing = standing
        self._stats = stats
        self._open: list[ServerAttempt] = []
        self._useless: set[ResolverAddress] = (
            set()
        )  # said that they can't answer, or can't be reached
        self._streams: list[asyncio.Task[None]] = []
        self._news: asyncio.Future[None] | None = None
        self._turn_over = False
        self._reply: wire.DnsResponse | None = None
        self._why = ""  # the first reason that a server gave

    async def run(self, turns: Sequence[ResolverAddress], until: float) -> wire.DnsResponse | str:
        """Return what a server answered, or in one word why none did.

        Args:
            turns: servers in the order of their turns; one that is to be asked again stands several
                times.
            until: by the loop's clock.
        """
        try:
            last = len(turns) - 1
            for number, server in enumerate(turns):
                attempt = None if server in self._useless else self._ask(server)
                if attempt is None:
                    continue
                now = self._loop.time()
                await self._listen(until if number == last else now + TURN * (until - now), attempt)
                if self._reply is not None:
                    return self._reply
                if attempt in self._open:
                    self._stats.timeouts += 1
                    self._standing.silent(server, self._loop.time())
            await self._listen(until)  # to those whose turn is over
            return self._reply or self._why or TIMEOUT
        finally:
            for attempt in self._open:
                attempt.close()
            for task in self._streams:
                task.cancel()

    async def _listen(self, until: float, attempt: ServerAttempt | None = None) -> None:
        """Wait for an answer, until nothing can come of the attempt (of any, if None) or the time
        is over.
        """
        self._turn_over = False
        timer = self._loop.call_at(until, self._end_turn)
        try:
            while (
                self._reply is None
                and not self._turn_over
                and (self._open if attempt is None else attempt in self._open)
            ):
                self._news = self._loop.create_future()
                await self._news
        finally:
            timer.cancel()

    def _end_turn(self) -> None:
        self._turn_over = True
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _ask(self, server: ResolverAddress) -> ServerAttempt | None:
        """Send the question; return None when there is no way to do it."""
        try:
            attempt = ServerAttempt(self, server, self._links, self._message)
        except OSError:
            self._stats.unreachable += 1
            self._give_up(server, UNREACHABLE)
            return None
        self._stats.sent += 1
        self._open.append(attempt)
        return attempt

    def heard(self, attempt: ServerAttempt, data: bytes) -> None:
        """Look at a datagram with an attempt's id."""
        if not wire.matches(data, self._asked):
            self._stats.ignored += 1
            return
        self._standing.answered(attempt.server)
        if wire.truncated(data) and not wire.refusal(data):
            attempt.close()
            self._stats.streams += 1
            self._streams.append(self._loop.create_task(self._stream(attempt.server)))
        else:
            self._take(attempt.server, data)

    def unreachable(self, attempt: ServerAttempt) -> None:
        """Note that nobody listens at the server's port."""
        self._stats.unreachable += 1
        self._standing.silent(attempt.server, self._loop.time())
        self._give_up(attempt.server, UNREACHABLE)

    def _take(self, server: ResolverAddress, data: bytes) -> None:
        why = wire.refusal(data)
        if why:
            if why == wire.SERVFAIL:
                self._stats.servfails += 1
            else:
                self._stats.refused += 1
            self._give_up(server, why)
            return
        try:
            self._reply = wire.read(data, self._asked, self._kind)
        except MalformedDnsMessage:
            self._stats.malformed += 1
            self._give_up(server, MALFORMED)
        else:
            self._tell()

    async def _stream(self, server: ResolverAddress) -> None:
        try:
            data = await tcp.ask_over_tcp(server, self._message)
        except (OSError, EOFError):
            self._stats.unreachable += 1
            self._give_up(server, UNREACHABLE)
            return
        if wire.matches(data, self._asked) and not wire.truncated(data):
            self._take(server, data)
        else:
            self._stats.malformed += 1
            self._give_up(server, MALFORMED)

    def _give_up(self, server: ResolverAddress, why: str) -> None:
        """Expect nothing more of a server."""
        self._why = self._why or why
        self._useless.add(server)
        for attempt in self._open:
            if attempt.server == server:
                attempt.close()
        self._open = [attempt for attempt in self._open if attempt.server != server]
        self._tell()


class ServerAttempt:
    """A question sent to one server.

    Args:
        exchange: hears what comes.
        server: asked.
        links: where its socket comes from.
        message: without id.

    Raises:
        OSError: it could not be sent.
    """

    def __init__(
        self, exchange: DnsExchange, server: ResolverAddress, links: UdpSocketPool, message: bytes
    ) -> None:
        self.server = server
        self._exchange = exchange
        self._links = links
        self._link: UdpSocket | None = links.take(server)
        try:
            self._ident = self._link.send(message, self._take_datagram)
        except OSError:
            links.give_back(server, self._link)
            raise

    def _take_datagram(self, data: bytes | None) -> None:
        if data is None:
            self._exchange.unreachable(self)
        else:
            self._exchange.heard(self, data)

    def close(self) -> None:
        """Listen no more."""
        if self._link is not None:
            self._link.forget(self._ident)
            self._links.give_back(self.server, self._link)
            self._link = None
