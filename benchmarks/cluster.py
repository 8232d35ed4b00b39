"""What counting in a cluster costs, and how long the death of a primary is felt: the figures of
docs/operate/cluster.md.

    python benchmarks/cluster.py                        all three tables
    python benchmarks/cluster.py --only failover --runs 3

    pages      a cluster of one node takes half a million keys in pages of a size, and its memory is
               read before and after: first records alone, one cell each and nine in two of a
               hundred; then a share of the keys seen once, the others with two cells
    sending    six nodes, three of them replicas; new keys lie ready in a spool, and a sender,
               started then, brings them: keys a second until all primaries have the last, CPU of
               its process and of the nodes
    failover   six nodes and a worker that reads and adds a message of the bench's mix each 5 ms;
               one primary is killed. "whole" and "sent" are the last moment a read was partial, and
               that some part lacked a step for half a second; "wrong" is how many shingles somebody
               else then reads otherwise than a dictionary has them

Redis runs as real processes on loopback, of this machine as all else: the figures are of what all
of them get of its cores.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from benchmarks.counted_redis import Connection
from benchmarks.failover import outlive, writing
from oborona import state_files
from oborona.counter_load.cluster import PAGES, ClusterSubject, ClusterWatch
from oborona.counter_load.processes import cpu_s
from oborona.counter_load.workload import hashes, types
from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.layout import APPLIED, FIELD_BYTES, ID_BYTES, OPENINGS
from oborona.counters.cluster.page_queries import DOOR, SLOT, SLOTS
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress, pack
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.record import CELL_BYTES
from oborona.counters.window import DAY_S, bucket_of
from oborona.types import Amounts, CountedPieces, Shingle
from tests.peers.redis import Cluster, Node, wait_for

TABLES: Final = ("pages", "sending", "failover")
PAGE_SIZES: Final = (2, 10, 40, 100, 400)  # keys
SHARES: Final = (0.62, 0.95)  # of keys seen once
PAGE_KEYS: Final = 500_000
PAGE_S: Final = 17 * DAY_S  # a page that nobody touches lasts so long
COMMANDS: Final = 500  # in one go
FLUSHED: Final = 10_000  # keys at once
NODE_TIMEOUTS_S: Final = (1, 2, 5)
SENT_S: Final = 600.0  # bounds a hang
LOOK_S: Final = 0.05


def pages_table() -> Table:
    """Return bytes a key by the number of keys in a page."""
    shown = Table("keys in a page", "records", "hash-max-listpack-value 64", title="bytes a key")
    for share in SHARES:
        shown.add_column(f"{share:.0%} once: records")
        shown.add_column("slots")
    with tempfile.TemporaryDirectory(prefix="oborona-bench-") as folder:
        # pages of a member are larger than those of Redis alone
        server = Node(Path(folder), cluster=True)
        with contextlib.ExitStack() as stack:
            stack.callback(server.kill)
            server.start()
            server.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16_383)
            wait_for(
                lambda: "cluster_state:ok" in str(server.ask("CLUSTER", "INFO")),
                "one node to be a cluster",
            )
            node = stack.enter_context(contextlib.closing(Connection(server.address[1])))
            for size in PAGE_SIZES:
                found: list[float | None] = [
                    _bytes_a_key(node, size),
                    _bytes_a_key(node, size, listpack_value=64),
                ]
                for share in SHARES:
                    found.append(_bytes_a_key(node, size, once=share))
                    fits = round(size * share) <= SLOTS
                    found.append(_bytes_a_key(node, size, once=share, slots=True) if fits else None)
                shown.add_row(str(size), *("" if one is None else f"{one:.1f}" for one in found))
    return shown


def _bytes_a_key(
    node: Connection,
    size: int,
    *,
    once: float | None = None,
    slots: bool = False,
    listpack_value: int = 2048,
) -> float:
    """Return what so large pages took.

    Args:
        node: is emptied.
        size: keys in a page.
        once: share of them seen once, the others twice; None: one cell each and nine in two of a
            hundred.
        slots: whether those seen once wait in slots.
        listpack_value: as Redis has it.
    """
    settings = ("hash-max-listpack-value", listpack_value), ("hash-max-listpack-entries", 512)
    node.ask(
        [
            pack([b"FLUSHALL"]),
            *(pack([b"CONFIG", b"SET", name.encode(), one]) for name, one in settings),
        ]
    )
    pages = min(PAGE_KEYS // size, len(OPENINGS) * len(PAGES))
    names = [
        OPENINGS[at % len(OPENINGS)] + bytes(PAGES[at // len(OPENINGS)]) for at in range(pages)
    ]
    before = _memory(node)
    chance = np.random.default_rng(1)
    own = [b"p", b"%d" % bucket_of(time.time()), APPLIED + os.urandom(ID_BYTES), b"1000"]
    for at in range(0, pages, COMMANDS):
        commands = []
        for name in names[at : at + COMMANDS]:
            many = chance.random(size) < (0.02 if once is None else 1 - once)
            cells = np.where(many, 9 if once is None else 2, 1)
            fields = list(own)
            if slots:
                fields += [DOOR, os.urandom(SLOT.size * int(np.count_nonzero(~many)))]
                cells = cells[many]
            for count in cells.tolist():
                fields += [os.urandom(FIELD_BYTES), os.urandom(CELL_BYTES * count)]
            commands.append(pack([b"HSET", name, *fields]))
            commands.append(pack([b"EXPIRE", name, PAGE_S]))
        node.ask(commands)
    return (_memory(node) - before) / (pages * size)


def _memory(node: Connection) -> int:
    [text] = node.ask([pack([b"INFO", b"memory"])])
    assert isinstance(text, bytes), "INFO answers with text"
    return int(text.partition(b"used_memory:")[2].split()[0])


async def sending_table(keys: int) -> Table:
    """Return what bringing new keys takes."""
    shown = Table(
        "new keys get",
        "keys/s",
        "sender, µs a key",
        "primaries",
        "replicas",
        title=f"{keys:,} new keys",
    )
    for doorkeeper in (False, True):
        with Cluster() as cluster, tempfile.TemporaryDirectory(prefix="oborona-bench-") as folder:
            found = await _send(cluster, Path(folder), keys, doorkeeper=doorkeeper)
        shown.add_row(
            "slots" if doorkeeper else "records",
            f"{found[0]:,.0f}",
            *(f"{one:.1f}" for one in found[1:]),
        )
    return shown


async def _send(cluster: Cluster, folder: Path, keys: int, *, doorkeeper: bool) -> list[float]:
    """Return keys a second, and µs of CPU a key of the sender, all primaries, all replicas."""
    subject = _subject(cluster, folder, doorkeeper=doorkeeper)
    primaries = cluster.primaries()
    replicas = [node for node in cluster.nodes if node not in primaries]
    numbers = np.arange(1, keys + 1, dtype=np.uint64)
    shingles = list(map(Shingle, types(numbers).tolist(), hashes(numbers).tolist()))
    with (
        contextlib.closing(subject.counters(0)) as worker,
        contextlib.closing(BlockingClusterClient(subject.access)) as shards,
        contextlib.ExitStack() as later,
    ):
        flushes = 0
        for at in range(0, keys, FLUSHED):
            worker.add(
                CountedPieces(shingles=tuple(shingles[at : at + FLUSHED]), pairs=()),
                Amounts(seen=1),
                time.time(),
            )
            flushes += bool(worker.flush(time.time()))
        sender = later.enter_context(writing(subject, folder))
        began = time.monotonic()
        watch = ClusterWatch(
            shards,
            later.enter_context(
                contextlib.closing(LmdbReader(folder / "counters" / state_files.COUNTERS_OUTBOX))
            ),
        )
        pids = [[sender.pid], [_pid(node) for node in primaries], [_pid(node) for node in replicas]]
        used = [sum(map(cpu_s, some)) for some in pids]
        while watch.applied(0) < flushes:
            if time.monotonic() > began + SENT_S:
                sys.exit(f"the cluster has not got all within {SENT_S:.0f} s")
            await asyncio.sleep(LOOK_S)
        took = time.monotonic() - began
        spent = [sum(map(cpu_s, some)) - before for some, before in zip(pids, used, strict=True)]
        sender.end()
    return [keys / took, *(1e6 * one / keys for one in spent)]


async def failover_table(runs: int) -> Table:
    """Return how long the death of a primary is felt."""
    shown = Table(
        "cluster-node-timeout", "whole again, s", "sent again, s", "slowest read, ms", "messages", "wrong",
        title="a primary is killed",
    )  # fmt: skip
    for timeout_s in NODE_TIMEOUTS_S:
        for _ in range(runs):
            with (
                Cluster() as cluster,
                tempfile.TemporaryDirectory(prefix="oborona-bench-") as folder,
            ):
                for node in cluster.nodes:
                    node.ask("CONFIG", "SET", "cluster-node-timeout", 1000 * timeout_s)
                subject = _subject(cluster, Path(folder), doorkeeper=False)
                felt = await outlive(subject, Path(folder), cluster.primary_of(0).kill)
            shown.add_row(
                f"{timeout_s} s", f"{felt.whole_s:.1f}", f"{felt.sent_s:.1f}", f"{felt.slowest_ms:.0f}",
                f"{felt.messages:,}", f"{felt.wrong:,}",
            )  # fmt: skip
    return shown


def _subject(cluster: Cluster, folder: Path, *, doorkeeper: bool) -> ClusterSubject:
    nodes = tuple(NodeAddress(*node.address) for node in cluster.nodes)
    return ClusterSubject(
        directory=str(folder / "counters"), access=ClusterAccess(nodes=nodes), doorkeeper=doorkeeper
    )


def _pid(node: Node) -> int:
    assert node.process is not None, "it runs"
    return node.process.pid


def main() -> None:
    """Measure what the command line asks for; each table is printed as soon as it is there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=TABLES, help="default: all")
    parser.add_argument("--keys", type=int, default=500_000, help="that are sent")
    parser.add_argument("--runs", type=int, default=1, help="of each failover")
    asked = parser.parse_args()
    if asked.keys < 1:
        parser.error("--keys: one at least")
    tables = asked.only or TABLES
    console = Console(width=140)
    if "pages" in tables:
        console.print(pages_table())
    if "sending" in tables:
        console.print(asyncio.run(sending_table(asked.keys)))
    if "failover" in tables:
        console.print(asyncio.run(failover_table(asked.runs)))


if __name__ == "__main__":
    main()
