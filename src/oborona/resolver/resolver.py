"""The resolver of a process: a stub that asks the recursive resolvers of the site and keeps what
they say for a while.

    question → cache → the same question under way? → servers → CNAMEs followed → cache

Equal questions that are under way share one answer; who is cancelled leaves the others theirs, and
the answer is kept for whoever asks next. Every question ends within `timeout_s`. It belongs to the
event loop in which it first asks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Final, Self

import msgspec

from oborona.config import ResolverAddress
from oborona.dns import DnsAnswer, DnsOutcome, DnsType
from oborona.resolver import names, wire
from oborona.resolver.cache import AnswerCache
from oborona.resolver.chain import CnameChain, failure
from oborona.resolver.exchange import DnsExchange
from oborona.resolver.server_health import ServerHealth
from oborona.resolver.stats import ResolverStats
from oborona.resolver.udp_sockets import UdpSocketPool

TRIES: Final = 2  # times that each server is asked
# questions at a time: enough for many slow zones at once, few enough to tell ids apart
UNDER_WAY: Final = 2000
CACHE_ENTRIES: Final = 10_000

_NO_NAME: Final = DnsAnswer(outcome=DnsOutcome.NO_NAME)


class Resolver:
    """Satisfies `oborona.dns.DnsAsker`, and keeps answers.

    Args:
        servers: in the order in which they are asked, one at least.
        timeout_s: for a whole question: all servers, tries and CNAMEs.
        tries: times that each server is asked before the question is given up.
        cache_entries: room for so many answers.
        under_way: questions at a time; further ones wait within their time.
        clock: seconds, monotonic; the cache counts by it.
    """

    def __init__(
        self,
        servers: Sequence[ResolverAddress],
        *,
        timeout_s: float = 2.0,
        tries: int = TRIES,
        cache_entries: int = CACHE_ENTRIES,
        under_way: int = UNDER_WAY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stats = ResolverStats()
        self._timeout_s = timeout_s
        self._tries = tries
        self.servers = tuple(servers)
        self._standing = ServerHealth(servers)
        self._cache = AnswerCache(cache_entries, clock)
        self._links: UdpSocketPool | None = None
        # of servers that are asked no more: questions to them may be under way
        self._left: list[UdpSocketPool] = []
        self._room = asyncio.Semaphore(under_way)
        self._flights: dict[bytes, _SharedQuestion] = {}
        self._closed = False
        self.failed = 0  # questions in a row, by now, that no server answered
        self.why = ""  # of the last of them

    async def __aenter__(self) -> Self:
        """Close at the end of the block."""
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Close."""
        await self.close()

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        """Return the answer to one question within `timeout_s`; never raises."""
        encoded = names.encode(name)
        if encoded is None:
            return _NO_NAME
        question = wire.question(encoded, kind)
        answer = self._cache.get(question)
        self.stats.questions += 1
        if answer is not None:
            self.stats.cached += 1
            return answer
        flight = self._flights.get(question)
        if flight is not None:
            self.stats.shared += 1
            return msgspec.structs.replace(await flight.landing(), again=True)
        if self._closed:
            return failure("closed")
        flight = self._flights[question] = _SharedQuestion(
            self._answer(CnameChain(encoded, kind), kind)
        )
        flight.task.add_done_callback(partial(self._land, question))
        return await flight.landing()

    def known(self, name: str, kind: DnsType) -> DnsAnswer | None:
        """Return the answer if it needs no question to a server; never raises."""
        encoded = names.encode(name)
        if encoded is None:
            return _NO_NAME
        answer = self._cache.get(wire.question(encoded, kind))
        if answer is not None:
            self.stats.questions += 1
            self.stats.cached += 1
        return answer

    def use(self, servers: Sequence[ResolverAddress], *, under_way: int = UNDER_WAY) -> None:
        """Ask these servers from now on.

        Questions under way go on with those that they were put to.

        Args:
            servers: in the order in which they are asked, one at least.
            under_way: questions at a time.
        """
        self.servers = tuple(servers)
        self._standing = ServerHealth(servers)
        self._room = asyncio.Semaphore(under_way)
        self.failed, self.why = 0, ""
        if self._links is not None:
            self._left.append(self._links)
            self._links = None

    async def close(self) -> None:
        """End the questions under way with TEMPERROR; answer only from the cache from now on."""
        self._closed = True
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for links in filter(None, (self._links, *self._left)):
            links.close()
        self._left.clear()

    async def _answer(self, chain: CnameChain, kind: DnsType) -> DnsAnswer:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout_s
        room = self._room
        if not await self._seat(room, until):
            return failure("busy")
        links = self._links = self._links or UdpSocketPool(self.servers, loop, self.stats)
        standing = self._standing
        try:
            answer = None
            while answer is None:
                exchange = DnsExchange(
                    wire.question(chain.name, kind),
                    kind,
                    links=links,
                    standing=standing,
                    stats=self.stats,
                )
                reply = await exchange.run(standing.order(loop.time()) * self._tries, until)
                if isinstance(reply, str):
                    self.failed, self.why = self.failed + 1, reply
                    answer = failure(reply)
                else:
                    self.failed, answer = 0, chain.follow(reply)
        finally:
            room.release()
        return answer

    async def _seat(self, room: asyncio.Semaphore, until: float) -> bool:
        """Take one of the places of questions under way; return whether there was one in time."""
        if not room.locked():
            return await room.acquire()  # at once: the time limit below costs more than the place
        try:
            async with asyncio.timeout_at(until):
                return await room.acquire()
        except TimeoutError:
            return False

    def _land(self, question: bytes, task: asyncio.Task[DnsAnswer]) -> None:
        flight = self._flights.pop(question)
        if task.cancelled():
            flight.land(failure("closed"))
        elif fault := task.exception():
            flight.crash(fault)
        else:
            answer = task.result()
            self._cache.put(question, answer)
            flight.land(answer)


class _SharedQuestion:
    """A question under way, and those who wait for its answer.

    Args:
        answer: gets it.
    """

    def __init__(self, answer: Coroutine[None, None, DnsAnswer]) -> None:
        self.task = asyncio.get_running_loop().create_task(answer)
        self._waiting: list[asyncio.Future[DnsAnswer]] = []

    async def landing(self) -> DnsAnswer:
        """Return the answer when it is there."""
        future: asyncio.Future[DnsAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return await future

    def land(self, answer: DnsAnswer) -> None:
        """Give it to all who still wait."""
        for future in self._waiting:
            if not future.done():
                future.set_result(answer)

    def crash(self, fault: BaseException) -> None:
        """Tell all who still wait of a fault of ours; the loop's log, if nobody does."""
        if all(future.done() for future in self._waiting):
            raise fault
        for future in self._waiting:
            if not future.done():
                future.set_exception(fault)
