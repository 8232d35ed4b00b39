"""A blocking client of a cluster: each command goes to the node that has its slot, and all nodes
are queried at once.

A node that does not answer is not tried again for a while, and the slot map is fetched again. Its
commands return errors; the commands of other nodes are answered. ASK is followed within a call,
MOVED is noted for the next call. The caller repeats what a node refuses: this client repeats
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import hiredis

from oborona.counters.cluster.blocking_connection import BlockingNodeConnection
from oborona.counters.cluster.wire import (
    ASKING,
    MAP,
    ClusterAccess,
    NodeAddress,
    Reply,
    SlotMap,
    Word,
    pack,
    redirect,
    tells_old_map,
)
from oborona.errors import StoreError

ANSWER_S: Final = 5.0  # a step of 8 MiB is worked off in a fraction of it
PEACE_S: Final = 0.5  # between two tries to reach a node, or to get a map
# of the time that a try took: a machine that vanished holds the others up a fifth of the time
PEACE_SHARE: Final = 4

Command = tuple[int, Sequence[Word]]
"""Its slot, and its words"""


class BlockingClusterClient:
    """The primaries of a cluster.

    Args:
        access: where some of its nodes are, and how to be let in.
        answer_s: deadline for an answer.

    Nothing is connected before the first `ask`.
    """

    def __init__(self, access: ClusterAccess, *, answer_s: float = ANSWER_S) -> None:
        self._access = access
        self._answer_s = answer_s
        self._links: dict[NodeAddress, BlockingNodeConnection] = {}
        self._away: dict[NodeAddress, float] = {}  # until when it is left in peace, monotonic
        self._map: SlotMap | None = None
        self._map_old = True
        self._map_asked = -PEACE_S
        self.trouble = "no node of it is known"  # the last one, in words

    def ask(self, commands: Sequence[Command]) -> list[Reply]:
        """Return the answer to each command; a `StoreError` for one whose node is away or unknown.

        Errors of Redis are answers: `hiredis.ReplyError`.
        """
        answers: list[Reply] = [StoreError("no node of the cluster answers")] * len(commands)
        by_node: dict[NodeAddress, list[int]] = {}
        cluster = self._current_map()
        if cluster is not None:
            for place, (slot, _words) in enumerate(commands):
                owner = cluster.owners[slot]
                if owner is None:
                    self._map_old = True
                    answers[place] = StoreError(f"no node has slot {slot}")
                else:
                    by_node.setdefault(owner, []).append(place)
        elsewhere = self._round(by_node, commands, answers, b"")
        if elsewhere:
            self._round(elsewhere, commands, answers, ASKING)
        return answers

    def reaches(self, slot: int) -> bool:
        """Whether the node of a slot is not known to be away."""
        cluster = self._current_map()
        owner = cluster.owners[slot] if cluster is not None else None
        return owner is not None and self._away.get(owner, 0.0) <= time.monotonic()

    def nodes(self) -> list[NodeAddress]:
        """Return the primaries that are known now."""
        cluster = self._current_map()
        return cluster.nodes() if cluster is not None else []

    def ask_node(self, address: NodeAddress, *commands: Sequence[Word]) -> list[Reply]:
        """Return one node's answers.

        Raises:
            StoreError: it is away.
        """
        link = self._link(address)
        try:
            link.send(b"".join(map(pack, commands)))
            return link.answers(len(commands))
        except StoreError:
            self._lost(address)
            raise

    def close(self) -> None:
        """Hang up everywhere."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _round(
        self,
        by_node: dict[NodeAddress, list[int]],
        commands: Sequence[Command],
        answers: list[Reply],
        before_each: bytes,
    ) -> dict[NodeAddress, list[int]]:
        """Send to all nodes, then read from all; returns what ASK sends elsewhere."""
        sent: list[NodeAddress] = []
        for address, places in by_node.items():
            packed = b"".join(before_each + pack(commands[place][1]) for place in places)
            try:
                self._link(address).send(packed)
                sent.append(address)
            except StoreError as error:
                self._lost(address)
                for place in places:
                    answers[place] = error
        elsewhere: dict[NodeAddress, list[int]] = {}
        began = time.monotonic()
        for address in sent:
            places = by_node[address]
            try:
                replies = self._links[address].answers(len(places) * (2 if before_each else 1))
            except StoreError as error:
                self._lost(address, time.monotonic() - began)
                replies = [error for _ in range(len(places) * (2 if before_each else 1))]
            for place, answer in zip(
                places, replies[1::2] if before_each else replies, strict=True
            ):
                answers[place] = answer
                if isinstance(answer, hiredis.ReplyError):
                    self._note(answer, address, place, elsewhere)
        return elsewhere

    def _note(
        self,
        error: hiredis.ReplyError,
        address: NodeAddress,
        place: int,
        elsewhere: dict[NodeAddress, list[int]],
    ) -> None:
        target = redirect(error, address)
        if target is None:
            self._map_old = self._map_old or tells_old_map(error)
        elif not target.for_good:
            elsewhere.setdefault(target.address, []).append(place)
        elif self._map is not None:
            self._map.owners[target.slot] = target.address

    def _link(self, address: NodeAddress) -> BlockingNodeConnection:
        link = self._links.get(address)
        if link is None:
            began = time.monotonic()
            if self._away.get(address, 0.0) > began:
                raise StoreError(f"{address} is away")
            try:
                link = self._links[address] = BlockingNodeConnection(
                    address, self._access, self._answer_s
                )
            except StoreError as error:
                self._leave_in_peace(address, time.monotonic() - began)
                self.trouble = str(error)
                raise
        return link

    def _lost(self, address: NodeAddress, took_s: float = 0.0) -> None:
        """Give a connection up that failed."""
        link = self._links.pop(address, None)
        if link is not None:
            link.close()
            self._leave_in_peace(address, took_s)
        self._map_old = True

    def _leave_in_peace(self, address: NodeAddress, took_s: float) -> None:
        self._away[address] = time.monotonic() + max(PEACE_S, PEACE_SHARE * took_s)

    def _current_map(self) -> SlotMap | None:
        """Return the map, asked for anew if it is old and was not asked for just now."""
        if not self._map_old or time.monotonic() - self._map_asked < PEACE_S:
            return self._map
        self._map_asked = time.monotonic()
        nodes = self._map.nodes() if self._map is not None else []
        for address in dict.fromkeys([*nodes, *self._access.nodes]):
            try:
                link = self._link(address)
                link.send(MAP)
                [answer] = link.answers(1)
                self._map = SlotMap.parse(answer, address)
            except StoreError:
                self._lost(address)
            else:
                self._map_old = False
                break
        return self._map
