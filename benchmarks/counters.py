"""What counting costs: `oborona counters bench` on our store, and the same load on Redis and
SQLite, in one run.

    python benchmarks/counters.py                       a million keys, ten seconds each, one worker
    python benchmarks/counters.py --keys 10000000       as the daemon is sized; Redis then takes
    over 2 GB of memory

The load is that of `counter_load/workload.py`: 40 shingles a message, 24 of them new, the others
by Zipf's law over keys with a fortnight's history. Unpaced, each takes what it can; ours are held
to a second's lag, as `oborona counters bench` does it. The cluster is three primaries on this
machine; how Redis alone and SQLite count is said in `counted_redis.py` and `counted_sqlite.py`. Lag
is from the beginning of a flush until the store has it; Redis has an add with its answer.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from benchmarks.counted_redis import RedisSubject
from benchmarks.counted_sqlite import SqliteSubject
from benchmarks.servers import ROOT, free_port, redis
from oborona.counter_load.cluster import ClusterSubject
from oborona.counter_load.report import BenchReport
from oborona.counter_load.run import BenchLoad, run
from oborona.counter_load.subject import BenchSubject, LmdbSubject
from oborona.counters.cluster.wire import ClusterAccess, NodeAddress
from tests.peers.redis import Cluster

STORES = ("lmdb", "cluster", "redis", "sqlite")
SHOWN = (
    "adds_per_s", "messages_per_s", "read_us_p50", "read_us_p99", "lag_ms_p50", "lag_ms_p99", "bytes_per_key",
    "cpu_ms_per_message",
)  # fmt: skip


def measure(store: str, load: BenchLoad, folder: Path) -> BenchReport:
    """Return the report of one store, made in the folder and filled."""
    with ExitStack() as stack:
        subject: BenchSubject
        if store == "redis":
            port = free_port()
            subject = RedisSubject(port=port, pid=stack.enter_context(redis(folder, port)))
        elif store == "cluster":
            nodes = stack.enter_context(Cluster(replicas=0)).nodes
            subject = ClusterSubject(
                directory=str(folder / "counters"),
                access=ClusterAccess(nodes=tuple(NodeAddress(*node.address) for node in nodes)),
                pids=tuple(node.process.pid for node in nodes if node.process is not None),
            )
        elif store == "sqlite":
            subject = SqliteSubject(path=str(folder / "counts.db"))
        else:
            subject = LmdbSubject(
                directory=str(folder / "counters"), map_bytes=load.keys * 256 + (64 << 20)
            )
        return run(subject, load, lambda _doing, _share: None)


def table(reports: list[BenchReport]) -> Table:
    """Return the reports side by side."""
    first = reports[0]
    shown = Table(title=f"{first.keys:,} keys, workers: {first.workers}, one run")
    shown.add_column("store")
    for name in SHOWN:
        shown.add_column(name.replace("_", " "), justify="right")
    for one in reports:
        shown.add_row(one.store, *(f"{getattr(one, name):,}" for name in SHOWN))
    return shown


def main() -> None:
    """Run what the command line asks for, print the table or, with --json, one object a store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", action="append", choices=STORES, help="default: all")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument(
        "--rate", type=int, default=0, help="adds a second; 0 = as many as it takes"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT)  # the processes of a run import the peers by name
    try:
        load = BenchLoad(
            keys=asked.keys, seconds=asked.seconds, rate=asked.rate, workers=asked.workers
        )
    except ValueError as error:
        parser.error(str(error))
    console = Console(width=140)
    reports = []
    for store in asked.store or STORES:
        with tempfile.TemporaryDirectory(prefix="oborona-bench-") as folder:
            reports.append(measure(store, load, Path(folder)))
        if asked.json:
            console.print_json(json.dumps(msgspec.to_builtins(reports[-1])))
    if not asked.json:
        console.print(table(reports))


if __name__ == "__main__":
    main()
