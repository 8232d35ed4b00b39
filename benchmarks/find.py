"""How long a search of the journal takes, and what its column costs a message.

    python benchmarks/find.py                     100,000 messages of one day
    python benchmarks/find.py --rows 1000000      takes some minutes and 4 GB

Fills a journal as `benchmarks/journal.py` does and asks it: words that one message has, that none
has, in other letters than Latin, a rule, a network, a queue id.  Prints a JSON line of each:
seconds of wall and of CPU, the median of five on an open journal, and how many were found; then of
`append`, microseconds a message with From and without.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.journal import DAY_S, START, Filler, fill
from benchmarks.replay import CORPUS, ROOT, entries
from oborona import state_files
from oborona.journal import rows, schema
from oborona.journal.entry import JournalEntry
from oborona.journal.query import parse_query
from oborona.journal.search import JournalSearch
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy

TIMES: Final = 5
QUESTIONS: Final = (
    "verdict:accept",
    "Q77777",
    "queue:Q77777",
    "nobody@nowhere.example",
    "from:nobody@nowhere.example to:bob",
    "subject:лотерея",
    "rule:NEVER_SEEN",
    "client:203.0.113.0/24",
    "subject:re -subject:the score>20",
)


async def main(asked: argparse.Namespace) -> None:
    """Fill and measure."""
    kinds = await entries(asked.corpus, 500, load_policy(ROOT / "etc/policy.d", SCHEMA))
    times = (START + DAY_S * place / asked.rows for place in range(asked.rows + 1))
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        path = Path(name) / state_files.JOURNAL
        schema.prepare(path)
        await fill(path, Filler(kinds), times, asked.rows, 10)
        with JournalSearch(path) as journal:
            for text in QUESTIONS:
                query = msgspec.structs.replace(parse_query(text, START + DAY_S), since=START)
                spent, found = list[tuple[float, float]](), 0
                for _ in range(TIMES):
                    began, cpu = time.perf_counter(), time.process_time()
                    found = sum(1 for _ in journal.find(query, 20))
                    spent.append((time.perf_counter() - began, time.process_time() - cpu))
                wall, cpu = (round(statistics.median(one), 4) for one in zip(*spent, strict=True))
                print(
                    json.dumps({"query": text, "wall_s": wall, "cpu_s": cpu, "found": found}),
                    flush=True,
                )
    bare = [msgspec.structs.replace(one, header_from="") for one in kinds]
    for name, some in (("with From", kinds), ("without", bare)):
        best = min(_packing(some) for _ in range(TIMES))
        print(json.dumps({"pack": name, "us": round(1e6 * best, 2)}))


def _packing(some: list[JournalEntry]) -> float:
    """Return seconds of packing one entry."""
    began = time.process_time()
    for one in some:
        rows.pack(one)
    return (time.process_time() - began) / len(some)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--folder", type=Path, default=None)
    asyncio.run(main(parser.parse_args()))
