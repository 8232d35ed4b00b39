"""Several machines as one site: changes a second through PostgreSQL, and how late others have one.

    benchmarks/site.py [--changes 2000] [--machines 3]

A PostgreSQL of its own with `fsync`, state folders as machines, all on loopback. Wall and CPU: the
database's part is not in the CPU.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oborona import state_files
from oborona.replication.replica import position_of
from oborona.stores.persons.store import PersonStore
from tests.peers.postgresql import Postgresql
from tests.replication.machines import following, new_state, site_of

WRITERS = 4


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--machines", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oborona-site-") as folder:
        root = Path(folder)
        with PersonStore(new_state(root / "alone") / state_files.PERSONS) as alone:
            _tell("alone, one writer", *_written(alone, asked.changes))
        with Postgresql(sync=True) as server, ExitStack() as stack:
            machines = site_of(root, server.address, asked.machines)
            for state in machines:
                stack.enter_context(following(state))
            with PersonStore(machines[0] / state_files.PERSONS) as one:
                _tell("a site, one writer", *_written(one, asked.changes))
            _tell(f"a site, {WRITERS} writers of one machine", *_crowd(machines[:1], asked.changes))
            _tell("a site, a writer of each machine", *_crowd(machines, asked.changes))
            late = sorted(_late(machines, min(asked.changes, 500)))
            print(
                f"late on {asked.machines - 1} others, ms: p50 {late[len(late) // 2] * 1e3:.1f}, "
                f"p99 {late[int(len(late) * 0.99)] * 1e3:.1f}, most {late[-1] * 1e3:.1f}"
            )


def _tell(what: str, changes: int, wall: float, cpu: float) -> None:
    print(f"{what}: {changes / wall:,.0f} changes/s, {cpu / changes * 1e6:,.0f} us of CPU each")


def _written(store: PersonStore, changes: int) -> tuple[int, float, float]:
    with _clocks() as spent:
        for number in range(changes):
            store.strict(f"p{number % 100}@example.test", 1.0 + number % 9 / 10)
    return changes, spent[0], spent[1]


def _crowd(machines: list[Path], changes: int) -> tuple[int, float, float]:
    writers = machines if len(machines) > 1 else machines * WRITERS
    each = changes // len(writers)

    def write(state: Path) -> None:
        with PersonStore(state / state_files.PERSONS) as store:
            _written(store, each)

    threads = [threading.Thread(target=write, args=(state,)) for state in writers]
    with _clocks() as spent:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return each * len(writers), spent[0], spent[1]


def _late(machines: list[Path], changes: int) -> Iterator[float]:
    """Yield after how many seconds the last machine has a change, from when it is acknowledged."""
    files = [state / state_files.PERSONS for state in machines]
    with ExitStack() as stack:
        writer = stack.enter_context(PersonStore(files[0]))
        first, *others = (stack.enter_context(closing(sqlite3.connect(file))) for file in files)
        for number in range(changes):
            writer.strict("late@example.test", 1.0 + number % 9 / 10)
            at = time.perf_counter()
            wanted = position_of(first).number
            while any(position_of(db).number < wanted for db in others):
                time.sleep(0.0002)
            yield time.perf_counter() - at
            time.sleep(0.005)


@contextmanager
def _clocks() -> Iterator[list[float]]:
    spent = list[float]()
    wall, cpu = time.perf_counter(), time.process_time()
    yield spent
    spent += [time.perf_counter() - wall, time.process_time() - cpu]


if __name__ == "__main__":
    main()
