"""How long a machine's state takes into a site, onto a second machine, to be compared, and back.

    benchmarks/state_moved.py [--entries 1000000] [--events 200000]

Fills the store of personal lists and the one of reports, each of these with a raw copy, and gives
the commands as an admin does: `site begin`, `site join` on another, `site check`, and `site leave`
of the first.  PostgreSQL is one of its own with `fsync`, on loopback.  Prints for each command:
wall, its CPU, the most memory that it had, and what the database grew by.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.site import hear
from oborona import state_files
from oborona.stores.persons.store import PersonStore
from tests.peers.postgresql import Postgresql
from tests.replication.machines import new_state

EACH: Final = 50  # entries of a person
MIB: Final = 1 << 20
RUN: Final = (
    "import resource, sys\n"
    "from oborona.cli import main\n"
    "try:\n    main(sys.argv[1:])\n"
    "finally:\n    used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "    print('USED', used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=200_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oborona-moved-", dir="/var/tmp") as folder:
        first, second = (new_state(Path(folder) / name) for name in ("mx1", "mx2"))
        _fill_lists(first, asked.entries)
        asyncio.run(hear(first, asked.events))
        size = sum(file.stat().st_size for file in first.iterdir() if file.is_file())
        print(
            f"{asked.entries:,} entries, {asked.events:,} reports: {size / MIB:,.0f} MiB",
            flush=True,
        )
        with Postgresql(sync=True) as server:
            for state, command in (
                (first, ["begin", server.address, "--name", "mx1"]),
                (second, ["join", server.address, "--name", "mx2"]),
                (second, ["check"]),
                (first, ["leave"]),
            ):
                _command(server, state, command)


def _fill_lists(state: Path, entries: int) -> None:
    path = state / state_files.PERSONS
    with PersonStore(path) as store:
        store.strict("p0@example.test", 1.1)
    now = time.time()
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT OR IGNORE INTO person (id, address, changed) VALUES (?, ?, ?)",
            ((at + 2, f"p{at + 1}@example.test", at + 2) for at in range(entries // EACH)),
        )
        db.executemany(
            "INSERT INTO entry VALUES (?, 0, 'address', ?, 0, 'deny', '', x'', ?, 'command', 0, '')",
            ((at // EACH + 2, f"somebody{at}@elsewhere.example", now) for at in range(entries)),
        )
        db.execute("UPDATE version SET number = ?", (entries // EACH + 2,))


def _command(server: Postgresql, state: Path, words: list[str]) -> None:
    before, began = _size(server), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--state", str(state), "site", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - began
    _, _, used = done.stdout.rpartition("USED ")
    if done.returncode:
        sys.exit(f"{words[0]}: {done.stdout}{done.stderr}")
    cpu, memory = (float(one) for one in used.split())
    print(
        f"{words[0]}: {wall:.1f} s, {cpu:.1f} s of CPU, {memory / 1024:.0f} MiB; the database "
        f"{(_size(server) - before) / MIB:+,.0f} MiB",
        flush=True,
    )


def _size(server: Postgresql) -> int:
    ((octets,),) = server.rows("SELECT pg_database_size(current_database())")
    return int(octets)


if __name__ == "__main__":
    main()
