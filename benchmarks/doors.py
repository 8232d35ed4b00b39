"""What each door costs: messages a second, latency and CPU a message, beside the milter's, under
the same load of real mail.

    python benchmarks/doors.py                                          all doors, at 1, 8, 32 and
        128 connections
    python benchmarks/doors.py --doors milter,exim --connections 32     some of them
    python benchmarks/doors.py --messages 300                           a quick look

Each door in turn has a daemon of its own with an empty store, and the same 2,000 messages of the
corpus for each number of connections, one message a connection. The milter is driven by
milterload.py, the others by doorload.py. CPU is that of all processes of the daemon, without the
resolver on loopback, which knows no name; its pictures are not read. Clients that have earned it
are refused at connect by the milter and the proxy, some in a hundred; the others are asked about
whole messages alone, and scan these as well. With --rounds N the doors take turns N times, and the
table has the medians: on a machine that is not ours alone one round proves little.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from benchmarks.scan import WARM_UP, sample
from benchmarks.servers import free_port, oborona

HERE = Path(__file__).resolve().parent
BAR: Final = 1.30  # of the milter's CPU a message
DOORS: Final = {
    "milter": "",
    "exim": "exim",
    "spamc": "spamd",
    "rspamc": "spamd",
    "checkv2": "http",
    "scan": "http",
    "proxy": "proxy",
}
"""What is asked → the door in the settings."""
CONNECTIONS: Final = (1, 8, 32, 128)
MESSAGES: Final = 2000


class Cost(NamedTuple):
    """Of one door at one number of connections."""

    messages_per_s: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    rss_mb: float


def measure(
    door: str, folder: Path, listing: Path, connections: list[int], count: int, workers: int
) -> dict[int, Cost]:
    """Return what a door costs, with a daemon of its own."""
    section = DOORS[door]
    next_hop = ""
    settings: dict[str, str] = {"worker.max_messages": "1000"}
    address = ""
    if section:
        address = (
            f"inet:{free_port()}@127.0.0.1" if section == "proxy" else f"unix:{folder}/door.sock"
        )
        settings[f"doors.{section}.listen"] = address
    if section == "proxy":
        next_hop = f"inet:{free_port()}@127.0.0.1"
        settings["doors.proxy.next_hop"] = next_hop
    found = {}
    with oborona(
        folder, transport="native", workers=workers, pictures=False, settings=settings
    ) as server:
        watch = f"--watch=oborona={server.pids['oborona']}"
        for number in connections:
            if section:
                words = [
                    "doorload.py",
                    door,
                    address,
                    f"--connections={number}",
                    f"--next-hop={next_hop}",
                ]
            else:
                words = ["milterload.py", server.address, "--json", f"--concurrency={number}", "--timeout=1800"]  # fmt: skip
            more = [f"--list={listing}", f"--count={count}", f"--warmup={WARM_UP}", watch]
            command: list[str | Path] = [sys.executable, HERE / words[0], *words[1:], *more]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[number] = _cost(door, json.loads(done.stdout))
    return found


def _cost(door: str, report: Mapping[str, Any]) -> Cost:
    if wrong := report.get("no_answers"):
        raise RuntimeError(
            f"{door}: {len(wrong)} of {report['messages']} messages had no answer: {wrong[:3]}"
        )
    used, late = report["server"]["oborona"], report["latency_ms"]
    return Cost(
        report["msgs_per_s"], late["p50"], late["p99"], used["cpu_ms_per_msg"], used["rss_mb"]
    )


def table(costs: Mapping[tuple[str, int], Cost]) -> str:
    """Return the costs as a table of Markdown, with each door's CPU as a multiple of the
    milter's.
    """
    lines = [
        (
            "| door | connections | messages/s | p50 / p99 ms | CPU ms a message | of the "
            "milter's | RSS MB |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for (door, connections), cost in costs.items():
        milter = costs.get(("milter", connections))
        share = f"{cost.cpu_ms / milter.cpu_ms:.2f}" if milter else ""
        lines.append(
            f"| {door} | {connections} | {cost.messages_per_s:.0f} | {cost.p50_ms:.1f} / "
            f"{cost.p99_ms:.1f}"
            f" | {cost.cpu_ms:.2f} | {share} | {cost.rss_mb:.0f} |"
        )
    return "\n".join(lines)


def judged(costs: Mapping[tuple[str, int], Cost]) -> str:
    """Return whether the bar is held."""
    over = [
        f"{door} at {connections}: {cost.cpu_ms / milter.cpu_ms:.2f}"
        for (door, connections), cost in costs.items()
        if (milter := costs.get(("milter", connections))) and cost.cpu_ms > BAR * milter.cpu_ms
    ]
    return f"bar: no door over {BAR:.2f} of the milter's CPU a message: " + (
        "; ".join(over) or "held"
    )


def main() -> None:
    """Measure what the command line asks for, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--doors", default=",".join(DOORS), help="parted by commas; default: all")
    parser.add_argument(
        "--connections", default=",".join(map(str, CONNECTIONS)), help="parted by commas"
    )
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    doors, connections = asked.doors.split(","), [int(one) for one in asked.connections.split(",")]
    if unknown := set(doors) - DOORS.keys():
        parser.error(f"no such door: {', '.join(sorted(unknown))}")
    rounds: defaultdict[tuple[str, int], list[Cost]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="oborona-bench-") as folder:
        Path(folder).chmod(0o755)
        listing = Path(folder) / "messages"
        listing.write_text("\n".join(sample()))
        for turn in range(asked.rounds):
            for door in doors:
                place = Path(folder) / f"{door}-{turn}"
                found = measure(door, place, listing, connections, asked.messages, asked.workers)
                for number, cost in found.items():
                    rounds[door, number].append(cost)
    costs = {
        key: Cost(*(statistics.median(values) for values in zip(*of_rounds, strict=True)))
        for key, of_rounds in rounds.items()
    }
    print(table(costs))
    print(judged(costs))


if __name__ == "__main__":
    main()
