"""What the journal and its index cost when they are large.

    python benchmarks/journal.py                         100,000 and 1,000,000 entries, some minutes
                                                         and 4 GB
    python benchmarks/journal.py --rows 100000 10000000  takes an hour and 40 GB

Scans messages of the corpus, and fills a journal with copies of what is journaled of them, spread
over a day: ids, Message-IDs and hashes of pieces are each one's own, but for one campaign of
100,000 that shares its template.  At each size it measures:

    append_ms    25 entries, a worker's batch at 100 messages a second, from the append to the
                 commit: median, 99th of 100, the most of all
    purge_ms     one step of the keeper's (200 entries), the same
    find_ms      one entry by its id, and by its Message-ID, on a connection that is open: median
    piece_ms     the newest 64 messages by the pieces of one, and the newest 64 of the campaign
    campaign_s   all of the campaign, in steps of 64
    follow_us    CPU microseconds of a message that the index follows, merging included
    lag_ms       from the commit of a batch until the index has it, without its pause
    journal_b, index_b, index_rows   octets on the disk, and rows of the index, of a message

Prints a JSON line for each size.  `--folder` says where; what it writes there it removes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.replay import CORPUS, ROOT, entries
from oborona.ident import JournalIdGenerator
from oborona.journal import batch_insert, rows, schema, texts
from oborona.journal.entry import JournalEntry
from oborona.journal.index.index import JournalIndex
from oborona.journal.index.pieces import indexed_pieces
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import aiosqlite_connection
from oborona.message.hashing import ShingleType
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.types import Action, Shingle

DAY_S: Final = 86_400.0
START: Final = 1_795_170_000.0
BATCH: Final = 2000  # rows of the filler's transaction
LIVE: Final = 25  # entries of a worker's batch
TIMES: Final = 200
CAMPAIGN: Final = 100_000  # its messages at most, a tenth of all at most
SHARED: Final = Shingle(ShingleType.TEMPLATE, 7)
_PIECE: Final = np.dtype([("type", "u1"), ("hash", "<u8")])


class Filler:
    """Makes rows of entries, each its own.

    Args:
        kinds: entries of real messages.
    """

    def __init__(self, kinds: Sequence[JournalEntry]) -> None:
        self._kinds = [
            rows.pack(msgspec.structs.replace(one, verdict=Action.ACCEPT)) for one in kinds
        ]
        self._pieces = [
            np.frombuffer(bytes(row.evidence[4]), dtype=_PIECE)  # type: ignore[call-overload]
            for row in self._kinds
        ]
        self._draw = np.random.default_rng(1)
        self._numbers = JournalIdGenerator(1)
        self._at = 0

    def next(self, when: float, *, campaign: bool) -> rows.EntryRow:
        """Return the next row."""
        self._at += 1
        place = self._at % len(self._kinds)
        row, pieces = self._kinds[place], self._pieces[place].copy()
        pieces["hash"] ^= self._draw.integers(0, 1 << 63, dtype=np.uint64)
        stored = pieces.tobytes()
        if campaign:
            stored = bytes([SHARED.type]) + SHARED.hash.to_bytes(8, "little") + stored
        ident, name = self._numbers.next(when), f"{self._at}@bench.example"
        verdict = (
            ident,
            when,
            *row.verdict[2:9],
            f"Q{self._at}",
            name,
            texts.message_key(name),
            *row.verdict[12:],
        )
        evidence = (ident, *row.evidence[1:4], stored, *row.evidence[5:])
        return row._replace(verdict=verdict, evidence=evidence)


def told(times_s: Sequence[float]) -> list[float]:
    """Return the median, the 99th of a hundred and the most, in milliseconds."""
    ordered = sorted(times_s)
    return [
        round(1000 * one, 2)
        for one in (statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1])
    ]


def timed(what: Callable[[], object]) -> float:
    """Return how long a call takes, seconds."""
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


async def fill(path: Path, filler: Filler, times: Iterator[float], number: int, every: int) -> None:
    """Write rows; of each `every` one is of the campaign."""
    db = await aiosqlite_connection(schema.open_writer(path))
    try:
        for start in range(0, number, BATCH):
            batch = [
                filler.next(next(times), campaign=(start + place) % every == 0)
                for place in range(min(BATCH, number - start))
            ]
            await db.execute("BEGIN IMMEDIATE")
            await batch_insert.insert(db, batch, {})
            await db.execute("COMMIT")
    finally:
        await db.close()


def size(*paths: Path) -> int:
    """Return the octets of files and folders."""
    return sum(
        one.stat().st_size
        for path in paths
        for one in ([path] if path.is_file() else path.rglob("*"))
        if one.is_file()
    )


async def measure(
    folder: Path, kinds: Sequence[JournalEntry], index: JournalIndex, total: int, now: float
) -> dict[str, Any]:
    """Return the figures of a journal that is filled."""
    path = folder / "journal.db"
    followed, began = 0, time.process_time()
    while (taken := index.follow(now)) or index.busy:
        followed += taken
    index.follow(now + 60)
    while index.busy:
        index.follow(now + 60)
    spent = time.process_time() - began
    found: dict[str, Any] = {
        "entries": total,
        "follow_us": round(1e6 * spent / max(1, followed), 1),
        "journal_b": round(size(path) / total),
        "index_b": round(size(folder / "index") / total),
        "index_rows": round(index.rows / total, 1),
    }
    numbers, appends, lags = JournalIdGenerator(7), [], []
    async with await JournalWriter.open(path) as journal:
        for turn in range(TIMES):
            began = time.perf_counter()
            for place in range(LIVE):
                ident = numbers.next(now)
                journal.append(
                    msgspec.structs.replace(
                        kinds[(turn + place) % len(kinds)],
                        id=ident,
                        time=now,
                        verdict=Action.ACCEPT,
                    )
                )
            await journal.flush()
            appends.append(time.perf_counter() - began)
            lags.append(timed(lambda: index.follow(now + 60)))
        one = (await journal.recent(TIMES * LIVE + 1000))[-1]
        finds = []
        for _ in range(TIMES):
            began = time.perf_counter()
            await journal.get(one.id)
            middle = time.perf_counter()
            await journal.find(message_id=one.message_id)
            finds.append((middle - began, time.perf_counter() - middle))
        purges = []
        for _ in range(TIMES):
            began = time.perf_counter()
            await journal.purge(
                now, retention_s=9 * DAY_S, max_rows=total // 2, limit=200, window_s=9 * DAY_S
            )
            purges.append(time.perf_counter() - began)
    pieces = indexed_pieces(one.shingles)
    by_piece = [timed(lambda: index.find(pieces, since=now - DAY_S, most=64)) for _ in range(TIMES)]
    newest = [timed(lambda: index.find([SHARED], since=now - DAY_S, most=64)) for _ in range(TIMES)]
    began, members, last = time.perf_counter(), 0, None
    while some := index.find([SHARED], since=now - DAY_S, before=last, most=64):
        members, last = members + len(some), some[-1]
    return found | {
        "append_ms": told(appends),
        "purge_ms": told(purges),
        "find_ms": [
            round(1000 * statistics.median(column), 2) for column in zip(*finds, strict=True)
        ],
        "piece_ms": [round(1000 * statistics.median(one), 2) for one in (by_piece, newest)],
        "campaign": members,
        "campaign_s": round(time.perf_counter() - began, 2),
        "lag_ms": told(lags),
    }


async def main(asked: argparse.Namespace) -> None:
    """Fill and measure."""
    kinds = await entries(asked.corpus, 500, load_policy(ROOT / "etc/policy.d", SCHEMA))
    filler, done = Filler(kinds), 0
    sizes = sorted(asked.rows)
    times = (START + DAY_S * place / sizes[-1] for place in range(sizes[-1] + 1))
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        schema.prepare(folder / "journal.db")
        for total in sizes:
            began = time.perf_counter()
            every = max(10, sizes[-1] // CAMPAIGN)
            await fill(folder / "journal.db", filler, times, total - done, every)
            filled = time.perf_counter() - began
            done = total
            with JournalIndex(folder / "index", folder / "journal.db", max_bytes=1 << 40) as index:
                now = START + DAY_S * total / sizes[-1]
                found = await measure(folder, kinds, index, total, now)
            print(json.dumps(found | {"fill_s": round(filled, 1)}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--folder", type=Path, default=None)
    asyncio.run(main(parser.parse_args()))
