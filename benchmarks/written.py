"""What a message costs to be kept before it is answered: CPU microseconds of a worker, and of the
writer behind it.

    python benchmarks/written.py            200 messages of the corpus, half a minute

Beside the ways in which it could be done: the journal's spool or none, counts written with each
message or with ten together, which is what a flush each 0.1 s did at a hundred messages a second.
The best of some rounds counts, for what else a machine does makes it only slower.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.replay import CORPUS, ROOT, START
from oborona.counters.memory import MemoryCounters
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.journal import rows
from oborona.journal.spool import JournalSpool
from oborona.message.shingles import Hasher
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.session.journal_entry import entry_of
from oborona.types import Client, Envelope

MESSAGES: Final = 200
ROUNDS: Final = 7
TOGETHER: Final = 10
BATCH: Final = 25  # entries that SQLite takes at once


def cost(made: Callable[[], object]) -> float:
    """Return the CPU of one message in µs, at its best."""
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        made()
        taken.append(time.process_time_ns() - began)
    return min(taken) / MESSAGES / 1000


def counting(folder: Path, scans: list[Scan], each: int) -> tuple[float, float]:
    """Return what counting costs a worker, and the writer, where so many messages are written
    together.
    """

    def count() -> None:
        counters = LmdbCounters(folder / "counters", "worker", durability="none")
        for place, one in enumerate(scans, 1):
            record_verdict(one.pieces, one.verdict, counters, now=START, first=True)
            if place % each == 0:
                counters.write(START)
        counters.close()

    worker = cost(count)
    writer = LmdbCounterWriter(folder / "counters", durability="none", report=lambda _: None)
    began = time.process_time_ns()
    while writer.step(START):
        pass
    behind = (time.process_time_ns() - began) / MESSAGES / ROUNDS / 1000
    writer.close()
    shutil.rmtree(folder / "counters")
    return worker, behind


async def main() -> None:
    """Scan, measure and print."""
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    paths = sorted(CORPUS.glob("**/*.txt"))
    random.Random(1).shuffle(paths)  # noqa: S311 - an order, not a secret
    site = ScanSite(name="mx.b.example", hasher=Hasher(b"k" * 32), counters=MemoryCounters())
    envelopes = [
        Envelope(
            client=Client(ip=f"198.51.100.{at % 50}"),
            sender="ann@a.example",
            recipients=("bob@b.example",),
        )
        for at in range(MESSAGES)
    ]
    raws = [path.read_bytes() for path in paths[:MESSAGES]]
    began = time.process_time_ns()
    scans = [
        await scan(raw, envelope, site, policy, NoInquiry(), now=START)
        for raw, envelope in zip(raws, envelopes, strict=True)
    ]
    whole = (time.process_time_ns() - began) / MESSAGES / 1000
    both = list(enumerate(zip(scans, envelopes, strict=True)))
    entries = [
        entry_of(at, START, policy, envelope, 5000, one.verdict, one)
        for at, (one, envelope) in both
    ]
    packed = [rows.pack(entry) for entry in entries]
    print(f"{'a scan, for comparison':52}{whole:8.0f}")
    made = cost(
        lambda: [
            entry_of(at, START, policy, env, 5000, one.verdict, one) for at, (one, env) in both
        ]
    )
    print(f"{'an entry of the journal is made':52}{made:8.1f}")
    print(
        f"{'  and packed as a row':52}{cost(lambda: [rows.pack(entry) for entry in entries]):8.1f}"
    )
    with tempfile.TemporaryDirectory() as name:
        spool = JournalSpool(Path(name) / "spool")

        def written() -> None:
            for place, row in enumerate(packed, 1):
                spool.append(row)
                if place % BATCH == 0:
                    spool.written(None)

        print(f"{'  and written into the spool':52}{cost(written):8.1f}")
        spool.close(written=True)
        for each in (1, TOGETHER):
            worker, writer = counting(Path(name), scans, each)
            print(
                f"{f'counted, {each} written together':52}{worker:8.1f}{writer:8.1f} in the writer"
            )


if __name__ == "__main__":
    asyncio.run(main())
