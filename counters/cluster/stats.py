"""What a cluster and this machine's way to it are made of, as an admin asks for it: nodes, outbox,
spools.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import hiredis
import msgspec

from oborona import state_files
from oborona.counters.backlog import SpoolBacklog, lag_s, spool_backlog
from oborona.counters.cluster import steps
from oborona.counters.cluster.blocking_connection import BlockingNodeConnection
from oborona.counters.cluster.outbox import DONE_KEY, STEP_KEY, U64
from oborona.counters.cluster.wire import MAP, ClusterAccess, NodeAddress, Role, members, pack
from oborona.counters.lmdb_store import LmdbReader, positions
from oborona.counters.spool_follower import SpoolPosition
from oborona.counters.stats import writer_of
from oborona.errors import StoreError

ANSWER_S: Final = 2.0
ASKED: Final = pack((b"INFO", b"memory")) + pack((b"DBSIZE",))
MEMORY: Final = re.compile(rb"^used_memory:(\d+)", re.MULTILINE)


class NodeStats(msgspec.Struct, frozen=True, kw_only=True):
    """One node at one moment."""

    address: str
    # unknown: the settings name it, and no node of the cluster does
    role: Role | Literal["unknown"]
    slots: int  # of 16,384
    memory_bytes: int | None = None  # None: it does not say
    pages: int | None = None  # hashes of records; one for each tag is none of them
    trouble: str = ""  # empty: it answers


class OutboxStats(msgspec.Struct, frozen=True, kw_only=True):
    """What is on its way to the cluster."""

    bytes: int = 0  # of steps that are kept, sent or not
    steps: int = 0
    unsent_bytes: int = 0  # of steps that some part of the cluster may lack
    unsent_steps: int = 0
    oldest: float | None = None  # Unix time of the first of these


class ClusterStats(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster at one moment, and what waits for it here."""

    directory: str
    nodes: list[NodeStats]
    outbox: OutboxStats
    writer: str | None  # who holds the sender's lock; None: nobody, or `UNKNOWN`
    spools: list[SpoolBacklog]
    waiting_bytes: int  # in the spools
    lag_s: float  # how long the oldest count has waited that the cluster lacks


def look(directory: Path, access: ClusterAccess, now: float) -> ClusterStats:
    """Look at the nodes of a cluster and at what waits for them; a running daemon is not disturbed.

    Args:
        directory: of the spools and the outbox; need not be there.
        access: how to reach the cluster; it need not be there.
        now: Unix seconds.

    Raises:
        StoreError: the outbox or the spools cannot be read.
    """
    outbox, taken_to = _outbox(directory)
    spools = spool_backlog(directory, taken_to)
    unsent_s = now - outbox.oldest if outbox.oldest is not None else 0.0
    return ClusterStats(
        directory=os.fspath(directory),
        nodes=_nodes(access),
        outbox=outbox,
        writer=writer_of(directory),
        spools=spools,
        waiting_bytes=sum(spool.bytes for spool in spools),
        lag_s=max(lag_s(spools, now), unsent_s),
    )


def _outbox(directory: Path) -> tuple[OutboxStats, dict[str, SpoolPosition]]:
    sizes: list[int] = []
    unsent: list[int] = []
    oldest: float | None = None
    with (
        contextlib.closing(LmdbReader(directory / state_files.COUNTERS_OUTBOX)) as reader,
        reader.transaction() as txn,
    ):
        if txn is None:
            return OutboxStats(), {}
        (done,) = U64.unpack(txn.get(DONE_KEY, bytes(U64.size)))
        with txn.cursor() as cursor:
            cursor.set_range(STEP_KEY)
            for key, step in cursor:
                sizes.append(len(step))
                if int.from_bytes(key.removeprefix(STEP_KEY)) > done:
                    unsent.append(len(step))
                    oldest = steps.made_at(step) if oldest is None else oldest
        taken_to = positions(txn)
    out = OutboxStats(
        bytes=sum(sizes),
        steps=len(sizes),
        unsent_bytes=sum(unsent),
        unsent_steps=len(unsent),
        oldest=oldest,
    )
    return out, taken_to


def _nodes(access: ClusterAccess) -> list[NodeStats]:
    """Return the nodes that the cluster names, primaries first, then those of the settings that do
    not answer.
    """
    node_map: Mapping[NodeAddress, tuple[Role, int]] = {}
    trouble: dict[NodeAddress, str] = {}
    for address in access.nodes:
        try:
            with contextlib.closing(BlockingNodeConnection(address, access, ANSWER_S)) as link:
                link.send(MAP)
                [answer] = link.answers(1)
            if not node_map:
                node_map = members(answer, address)
        except StoreError as error:
            trouble[address] = str(error)
    nodes = [
        _node(address, access, role, slots)
        for address, (role, slots) in sorted(
            node_map.items(), key=lambda node: (node[1][0], node[0])
        )
    ]
    return nodes + [
        NodeStats(address=str(address), role="unknown", slots=0, trouble=why)
        for address, why in trouble.items()
        if address not in node_map
    ]


def _node(address: NodeAddress, access: ClusterAccess, role: Role, slots: int) -> NodeStats:
    asked = NodeStats(address=str(address), role=role, slots=slots)
    try:
        with contextlib.closing(BlockingNodeConnection(address, access, ANSWER_S)) as link:
            link.send(ASKED)
            info, pages = link.answers(2)
    except StoreError as error:
        return msgspec.structs.replace(asked, trouble=str(error))
    refused = next(
        (str(reply) for reply in (info, pages) if isinstance(reply, hiredis.ReplyError)), ""
    )
    memory = MEMORY.search(info) if isinstance(info, bytes) else None
    return msgspec.structs.replace(
        asked,
        memory_bytes=int(memory[1]) if memory is not None else None,
        pages=pages if isinstance(pages, int) else None,
        trouble=refused,
    )
