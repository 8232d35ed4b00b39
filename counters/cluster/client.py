"""An asynchronous client of a cluster: one pipelined connection to each node.

    ask    to each node its part, at once → wait until all have answered or the deadline is over →
           follow MOVED and ASK once

A node that is away, or whose answer is overdue by more than the deadline, is not queried, so that
later callers do not wait for it. The overdue answer is the probe: once it arrives, the node is
queried again. While a node is away the slot map is fetched again beside the queries, so that a
promoted replica is found.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Final

import hiredis

from oborona.counters.cluster.connection import NodeConnection
from oborona.counters.cluster.wire import (
    ASKING,
    MAP,
    ClusterAccess,
    NodeAddress,
    Reply,
    SlotMap,
    redirect,
    tells_old_map,
)
from oborona.errors import StoreError

SILENT_S: Final = 2.0  # a connection that owes an answer for so long is given up
PEACE_S: Final = 0.5  # between two tries to reach a node, or to get a map

Question = tuple[int, bytes]
"""Its slot, and a packed command"""


class ClusterClient:
    """The primaries of a cluster.

    Args:
        access: where some of its nodes are, and how to be let in.
        deadline_s: for an answer.

    Nothing is connected before the first `ask`. To be used in one event loop, until `close`.
    """

    def __init__(self, access: ClusterAccess, deadline_s: float) -> None:
        self._access = access
        self._deadline_s = deadline_s
        self._connections: dict[NodeAddress, NodeConnection] = {}
        # connecting; None: the map
        self._tasks: dict[NodeAddress | None, tuple[float, asyncio.Task[None]]] = {}
        self._peace: dict[NodeAddress | None, float] = {}  # until when it is not tried, monotonic
        self._map: SlotMap | None = None
        self._map_old = True
        self.trouble = ""  # the last one, in words

    async def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """Return the answer to each question; None for one that has none within the deadline.

        An answer of Redis that is an error is given as `hiredis.ReplyError`.
        """
        end = time.monotonic() + self._deadline_s
        answers: list[Reply] = [None] * len(questions)
        if self._map_old:
            self._start(None, self._learn_map())
        if self._map is None:
            await self._wait_for_start(None, end)
        if self._map is None:
            return answers
        by_node: dict[NodeAddress, list[int]] = {}
        owners = self._map.owners
        for place, (slot, _command) in enumerate(questions):
            owner = owners[slot]
            if owner is None:
                self._map_old = True
                self.trouble = f"no node has slot {slot}"
            else:
                by_node.setdefault(owner, []).append(place)
        redirected = await self._round(by_node, questions, answers, end, b"")
        if redirected:
            for asking in (b"", ASKING):
                part = {
                    address: places
                    for (address, before), places in redirected.items()
                    if before == asking
                }
                await self._round(part, questions, answers, end, asking)
        return answers

    def close(self) -> None:
        """Hang up everywhere."""
        for _began, task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        for connection in self._connections.values():
            connection.give_up()
        self._connections.clear()

    async def _round(
        self,
        by_node: dict[NodeAddress, list[int]],
        questions: Sequence[Question],
        answers: list[Reply],
        end: float,
        before_each: bytes,
    ) -> dict[tuple[NodeAddress, bytes], list[int]]:
        """Ask these nodes; returns what is to be asked elsewhere, and with what before each
        question.
        """
        waiting: dict[asyncio.Future[list[Reply]], tuple[NodeAddress, list[int]]] = {}
        per_question = 2 if before_each else 1
        for address in [node for node in by_node if not self._is_open(node)]:
            self._start(address, self._connect(address))
        for address, places in by_node.items():
            if not self._is_open(address):
                await self._wait_for_start(address, end)
            connection = self._connections.get(address)
            if connection is None or not self._is_usable(connection):
                self._map_old = True
                continue
            packed = b"".join([before_each + questions[place][1] for place in places])
            waiting[connection.ask(packed, per_question * len(places))] = address, places
        if not waiting:
            return {}
        done, late = await asyncio.wait(waiting, timeout=max(end - time.monotonic(), 0.0))
        for future in late:
            self.trouble = f"{waiting[future][0]} is silent"
        redirected: dict[tuple[NodeAddress, bytes], list[int]] = {}
        for future in done:
            address, places = waiting[future]
            replies = future.result()
            if len(replies) != per_question * len(places):
                self.trouble = f"{address} hung up"
                self._map_old = True
                continue
            for place, answer in zip(
                places, replies[per_question - 1 :: per_question], strict=True
            ):
                answers[place] = answer
                if isinstance(answer, hiredis.ReplyError):
                    self._note(answer, address, place, redirected)
        return redirected

    def _note(
        self,
        error: hiredis.ReplyError,
        address: NodeAddress,
        place: int,
        redirected: dict[tuple[NodeAddress, bytes], list[int]],
    ) -> None:
        self.trouble = f"{address}: {error}"
        target = redirect(error, address)
        if target is None:
            self._map_old = self._map_old or tells_old_map(error)
            return
        if target.for_good and self._map is not None:
            self._map.owners[target.slot] = target.address
        redirected.setdefault((target.address, b"" if target.for_good else ASKING), []).append(
            place
        )

    def _is_open(self, address: NodeAddress) -> bool:
        connection = self._connections.get(address)
        return connection is not None and connection.usable

    def _is_usable(self, connection: NodeConnection) -> bool:
        """Whether it may be asked; one that was silent for too long is given up."""
        since = connection.oldest_unanswered()
        if since is None:
            return connection.usable
        silent_s = time.monotonic() - since
        if silent_s > SILENT_S:
            connection.give_up()
        return connection.usable and silent_s <= self._deadline_s

    def _start(self, address: NodeAddress | None, work: Coroutine[Any, Any, None]) -> None:
        """Do this beside everything else, unless it is being done or was done just now."""
        now = time.monotonic()
        if address in self._tasks or self._peace.get(address, 0.0) > now:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[address] = now, task
        task.add_done_callback(lambda _task: self._tasks.pop(address, None))

    async def _wait_for_start(self, address: NodeAddress | None, end: float) -> None:
        """Wait for what was started, unless that was longer than a deadline ago."""
        began, task = self._tasks.get(address, (0.0, None))
        if task is not None and time.monotonic() - began < self._deadline_s:
            await asyncio.wait([task], timeout=max(end - time.monotonic(), 0.0))

    async def _connect(self, address: NodeAddress) -> None:
        """Connect to a node, and be let in; if it fails, it is left in peace for a while."""
        try:
            async with asyncio.timeout(self._access.connect_s):
                loop = asyncio.get_running_loop()
                tls = self._access.tls()
                _transport, connection = await loop.create_connection(
                    NodeConnection, *address, ssl=tls
                )
                greeting = self._access.greeting()
                if greeting:
                    [answer] = await connection.ask(greeting, 1) or [StoreError("it hung up")]
                    if isinstance(answer, Exception):
                        connection.give_up()
                        self._left(address, f"{address} refuses us: {answer}")
                        return
        except (OSError, StoreError) as error:  # TimeoutError is one
            self._left(address, f"cannot reach {address}: {str(error) or 'it is silent'}")
            return
        self._connections[address] = connection

    def _left(self, address: NodeAddress, why: str) -> None:
        self.trouble = why
        self._connections.pop(address, None)
        self._peace[address] = time.monotonic() + PEACE_S

    async def _learn_map(self) -> None:
        """Ask one node after the other for the map."""
        self._peace[None] = time.monotonic() + PEACE_S
        nodes = self._map.nodes() if self._map is not None else []
        for address in dict.fromkeys([*nodes, *self._access.nodes]):
            if not self._is_open(address) and self._peace.get(address, 0.0) <= time.monotonic():
                await self._connect(address)
            connection = self._connections.get(address)
            if connection is None or not self._is_usable(connection):
                continue
            done, _late = await asyncio.wait(
                [connection.ask(MAP, 1)], timeout=self._access.connect_s
            )
            for future in done:
                for answer in future.result():
                    try:
                        self._map = SlotMap.parse(answer, address)
                    except StoreError as error:
                        self.trouble = str(error)
                    else:
                        self._map_old = False
                        return
