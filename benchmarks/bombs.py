"""What messages that are built to be dear cost: CPU of a whole scan, and seconds a megabyte, the
dearest first.

    python benchmarks/bombs.py [--only WORD] [--most 40] [--json]

A scan is parsing, authentication (the DNS knows no name), pieces, the rules that ship and their
marks; no pictures are read. A figure is of one scan of each message of `tests/bombs.py`, and of the
best of three for those above `AGAIN_S`.  What is worst by size and what is worst at all are two
questions: both columns are there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from oborona.counters.memory import MemoryCounters  # noqa: E402
from oborona.message.hashing import Hasher  # noqa: E402
from oborona.policy.fact_table import SCHEMA  # noqa: E402
from oborona.policy.load import load_policy  # noqa: E402
from oborona.policy.scan import ScanSite, scan  # noqa: E402
from oborona.types import Client, Envelope  # noqa: E402
from tests.asking import inquirer  # noqa: E402
from tests.bombs import bombs  # noqa: E402

NOW: Final = 1_795_170_000.0
AGAIN_S: Final = 0.05
ENVELOPE: Final = Envelope(
    client=Client(ip="192.0.2.1"),
    sender="ann@a.example",
    recipients=("bob@b.example",),
    helo="a.example",
)


class Cost(NamedTuple):
    """What a message costs."""

    name: str
    octets: int
    seconds: float  # of CPU

    @property
    def per_mb(self) -> float:
        """Seconds a megabyte."""
        return self.seconds / self.octets * 1e6


class Scanner:
    """Scans as a worker does, without stores."""

    def __init__(self) -> None:
        self._loop = (
            asyncio.new_event_loop()
        )  # `asyncio.run` writes down the whole result once, for a handler of SIGINT
        self._policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
        self._site = ScanSite(name="mx.test", hasher=Hasher(b"k" * 32), counters=MemoryCounters())

    def seconds(self, raw: bytes) -> float:
        """Return the CPU of one scan."""
        before = time.process_time()
        self._loop.run_until_complete(
            scan(raw, ENVELOPE, self._site, self._policy, inquirer(now=NOW), now=NOW)
        )
        return time.process_time() - before


def measured(only: str) -> list[Cost]:
    """Return what the messages cost whose names hold a word, the dearest first."""
    scanner = Scanner()
    scanner.seconds(b"From: a@b.example\n\nwarm\n")
    costs = []
    for name, built in bombs():
        if only not in name:
            continue
        raw = built()
        seconds = scanner.seconds(raw)
        if AGAIN_S < seconds < 1.0:
            seconds = min(seconds, scanner.seconds(raw), scanner.seconds(raw))
        costs.append(Cost(name, len(raw), seconds))
    return sorted(costs, key=lambda cost: -cost.seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="of the names that hold this word")
    parser.add_argument("--most", type=int, default=40, help="rows")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    costs = measured(asked.only)
    if asked.json:
        for cost in costs:
            print(json.dumps({**cost._asdict(), "per_mb": cost.per_mb}))
        return
    table = Table(
        "message", "kB", "CPU ms", "s a MB", title=f"the dearest of {len(costs)} messages"
    )
    for cost in costs[: asked.most]:
        table.add_row(
            cost.name, str(cost.octets // 1000), f"{cost.seconds * 1e3:.0f}", f"{cost.per_mb:.2f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
