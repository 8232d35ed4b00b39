"""Where rows of the index may lie: tables of SQLite, LMDB with duplicates, and sorted files, side
by side.

    python benchmarks/journal_index.py                 50,000 messages of 16 pieces, a minute

Each store takes the same rows, a hash and an id, in batches as they come at 500 messages a second
(125 messages each quarter of a second); one piece of each message is a campaign's.  Prints a JSON
line for each: microseconds a row, the median and the most of a batch (ms), octets a message on the
disk and megabytes that were written for it all, and milliseconds to find the newest 1,000 messages
of the campaign (median of 20).  Nothing is synced; the log of SQLite is written by the system as it
is.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import lmdb
import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oborona.journal.index import segment as index_segment
from oborona.journal.index.pieces import messages_carrying

PIECES: Final = 16
BATCH: Final = 125  # messages
FLUSHED: Final = 40  # batches of a sorted file
MERGED: Final = 8  # files
HOT: Final = 12_345
NEWEST: Final = 1000
FINDS: Final = 20

Numbers = npt.NDArray[np.uint64]
Batches = Iterator[tuple[Numbers, Numbers]]


def batches(messages: int) -> Batches:
    """Yield hashes and ids of messages that come."""
    draw = np.random.default_rng(1)
    for start in range(0, messages, BATCH):
        ids = (np.arange(start, start + BATCH, dtype=np.uint64) + np.uint64(10**11)) << np.uint64(
            22
        )
        hashes = draw.integers(1 << 20, 1 << 62, size=(BATCH, PIECES), dtype=np.uint64)
        hashes[:, 0] = HOT
        yield hashes.ravel(), np.repeat(ids, PIECES)


def written_mb() -> float:
    """Return what this process has had written so far."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text("ascii").splitlines())
    return int(lines["write_bytes"]) / 1e6


def size(folder: Path) -> int:
    """Return the octets on the disk of all files of a folder."""
    return sum(one.stat().st_blocks * 512 for one in folder.iterdir())


def in_sqlite(folder: Path, some: Batches, *, log: bool) -> tuple[list[float], Callable[[], int]]:
    """Fill a table; return the seconds of each batch, and what finds the campaign."""
    db = sqlite3.connect(folder / "rows.db", isolation_level=None)
    db.execute(f"PRAGMA journal_mode = {'WAL' if log else 'OFF'}")
    db.execute(f"PRAGMA synchronous = {'NORMAL' if log else 'OFF'}")
    db.execute(
        "CREATE TABLE piece (hash INTEGER, id INTEGER, PRIMARY KEY (hash, id)) WITHOUT ROWID"
    )
    times = []
    for hashes, ids in some:
        began = time.perf_counter()
        order = np.lexsort((ids, hashes))
        db.execute("BEGIN IMMEDIATE")
        db.executemany(
            "INSERT INTO piece VALUES (?, ?)",
            zip(hashes[order].tolist(), ids[order].tolist(), strict=True),
        )
        db.execute("COMMIT")
        times.append(time.perf_counter() - began)
    ask = "SELECT id FROM piece WHERE hash = ? ORDER BY id DESC LIMIT ?"
    return times, lambda: len(db.execute(ask, (HOT, NEWEST)).fetchall())


def in_lmdb(folder: Path, some: Batches) -> tuple[list[float], Callable[[], int]]:
    """The same."""
    environment = lmdb.open(str(folder), map_size=8 << 30, max_dbs=1, sync=False)
    table = environment.open_db(b"piece", dupsort=True, dupfixed=True)
    times = []
    for hashes, ids in some:
        began = time.perf_counter()
        order = np.lexsort((ids, hashes))
        keys, values = hashes[order].astype(">u8").tobytes(), ids[order].astype(">u8").tobytes()
        with environment.begin(write=True, db=table) as change:
            change.cursor().putmulti(
                [
                    (keys[place : place + 8], values[place : place + 8])
                    for place in range(0, len(keys), 8)
                ],
                dupdata=True,
            )
        times.append(time.perf_counter() - began)

    def find() -> int:
        with environment.begin(db=table) as view:
            cursor = view.cursor()
            cursor.set_key(HOT.to_bytes(8, "big"))
            cursor.last_dup()
            return sum(1 for _, _ in zip(cursor.iterprev_dup(), range(NEWEST), strict=False))

    return times, find


def in_files(folder: Path, some: Batches) -> tuple[list[float], Callable[[], int]]:
    """The same, as the index does it: sorted files, of which eight become one."""
    times, waiting, files = [], [], []
    for number, (hashes, ids) in enumerate(some, 1):
        began = time.perf_counter()
        waiting.append((hashes, ids))
        if number % FLUSHED == 0:
            both = [np.concatenate(column) for column in zip(*waiting, strict=True)]
            waiting = []
            files.append(index_segment.write(folder / f"{number}", 0, both[0], both[1]))
            if len(files) == MERGED:
                *_, merged = index_segment.merge(folder / f"{number}-merged", files)
                assert merged is not None
                for one in files:
                    one.path.unlink()
                files = [merged]
        times.append(time.perf_counter() - began)
    wanted = np.array([HOT], dtype=np.uint64)

    def find() -> int:
        parts = [
            ids
            for one in files
            for ids in messages_carrying(one.hashes, one.ids, wanted, 0, 1 << 63, NEWEST)
        ]
        return len(np.unique(np.concatenate(parts))[::-1][:NEWEST])

    return times, find


def main(messages: int) -> None:
    """Fill each, and print its line."""
    stores: dict[str, Callable[[Path, Batches], tuple[list[float], Callable[[], int]]]] = {
        "SQLite, log": lambda folder, some: in_sqlite(folder, some, log=True),
        "SQLite, no log": lambda folder, some: in_sqlite(folder, some, log=False),
        "LMDB": in_lmdb,
        "sorted files": in_files,
    }
    for name, fill in stores.items():
        with tempfile.TemporaryDirectory() as folder:
            before = written_mb()
            times, find = fill(Path(folder), batches(messages))
            finds = []
            for _ in range(FINDS):
                began = time.perf_counter()
                assert find() == NEWEST
                finds.append(time.perf_counter() - began)
            found = {
                "store": name,
                "row_us": round(1e6 * sum(times) / messages / PIECES, 2),
                "batch_ms": [
                    round(1000 * one, 1) for one in (statistics.median(times), max(times))
                ],
                "message_b": round(size(Path(folder)) / messages),
                "written_mb": round(written_mb() - before),
                "find_ms": round(1000 * statistics.median(finds), 2),
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=50_000)
    main(parser.parse_args().messages)
