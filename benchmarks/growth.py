"""What a process keeps of messages it has scanned: RSS, what Python holds, and how full its caches
are, after each share of many distinct messages.

    python benchmarks/growth.py [--messages 20000] [--steps 8] [--json]

Messages of the corpus in a fixed random order, each changed so that no word, link or address of it
has come before. A cache fills and stops; a leak goes on. A column "caches" has the entries of all
functools.lru_cache of ours together; the fullest follow below. Memory that Python holds is traced
by itself (`--traced`), as that takes twice the time.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import tracemalloc
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.bombs import Scanner  # noqa: E402
from tests.letters import corpus  # noqa: E402

LETTERS: Final = 500
SHOWN: Final = 8


def distinct(number: int) -> Iterator[bytes]:
    """Yield messages of which none has the words of another."""
    letters = corpus(LETTERS, seed=1, spam_share=0.4)
    chance = random.Random(1)  # noqa: S311 - an order, not a secret
    for place in range(number):
        raw = letters[place % LETTERS].raw
        head, blank, body = raw.partition(b"\n\n")
        turned = list(b"bcdfghjklmnpqrstvwxyz")
        chance.shuffle(turned)
        table = bytes.maketrans(b"bcdfghjklmnpqrstvwxyz", bytes(turned))
        lines = [
            line
            for line in head.split(b"\n")
            if not line.lower().startswith((b"subject:", b"from:"))
        ]
        own = (
            f"From: p{place} <p{place}@h{place}.example>\nSubject: "
            f"\u0441\u043b\u043e\u0432\u043e{place} number {place}"
        ).encode()
        yield own + b"\n" + b"\n".join(lines) + blank + body.translate(table)


def caches() -> dict[str, tuple[int, int | None]]:
    """Return entries and room of each lru_cache of ours."""
    found = (each for each in gc.get_objects() if isinstance(each, _lru_cache_wrapper))
    return {
        f"{each.__module__}.{each.__qualname__}": (
            each.cache_info().currsize,
            each.cache_info().maxsize,
        )
        for each in found
        if each.__module__.startswith("oborona")
    }


def rss_mb() -> float:
    """Return what of this process is in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument(
        "--traced", action="store_true", help="what Python holds, too: twice the time"
    )
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    scanner = Scanner()
    scanner.seconds(b"From: a@b.example\n\nwarm\n")
    if asked.traced:
        tracemalloc.start()
    step = asked.messages // asked.steps
    for number, raw in enumerate(distinct(asked.messages), 1):
        scanner.seconds(raw)
        if number % step:
            continue
        gc.collect()
        row: dict[str, Any] = {"messages": number, "rss_mb": round(rss_mb(), 1)}
        if asked.traced:
            row["python_mb"] = round(tracemalloc.get_traced_memory()[0] / 1e6, 1)
        row["caches"] = sum(entries for entries, _ in caches().values())
        row["objects"] = len(gc.get_objects())
        print(
            json.dumps(row)
            if asked.json
            else "  ".join(f"{key} {value}" for key, value in row.items()),
            flush=True,
        )
    fullest = sorted(caches().items(), key=lambda one: -one[1][0])[:SHOWN]
    for name, (entries, room) in fullest:
        print(f"{name}: {entries} of {room}")


if __name__ == "__main__":
    main()
