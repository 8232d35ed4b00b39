"""Does a store go on for ever? Weeks of simulated mail: the size of its file day by day, and how
long steps of the purge take.

    python benchmarks/fortnight.py                      ten million live shingles, 20 days; 3 GB of
                                                        disk
    python benchmarks/fortnight.py --live 1000000       a tenth of that

The clock moves by an hour a step: 60 % of the adds are shingles that never come again, the others
come by Zipf's law. All records are kept in the store (no doorkeeper), so that the purge has all of
them to free; it does a round in six hours of the simulated time, as the writer's `run` does. Of its
steps a few an hour are as large as `run` makes them, between two steps of the writer, and these are
timed: "scan" is reading, "free" what it does inside a transaction, and "alone" a step that has a
transaction of its own, with its end.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona import state_files
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import FIRST_RECORD
from oborona.counters.purge import purge_from
from oborona.counters.record import DAYS_KEPT
from oborona.counters.store import LmdbCounters
from oborona.counters.window import DAY_S, bucket_of
from oborona.counters.writer import PURGE_LEAST, PURGE_ROUND_S, LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, Shingle

START: Final = 20_000.0 * DAY_S
STEP_S: Final = 3600
STEPS_A_DAY: Final = DAY_S // STEP_S
TIMED: Final = 8  # purge steps an hour
FLUSHED: Final = 200_000  # shingles at once
NEW_SHARE: Final = 0.6
ZIPF: Final = 1.1
SPREAD: Final = 0x9E3779B97F4A7C15


class Simulation:
    """One store and its clock.

    Args:
        directory: for the store.
        live: shingles in its windows when they are full.
        durability: of the writer; with "none" the disk is not waited for.
    """

    def __init__(self, directory: Path, live: int, durability: Durability) -> None:
        self._directory = directory
        self._writer = LmdbCounterWriter(
            directory, durability=durability, doorkeeper_bytes=0, report=lambda _: None
        )
        self._worker = LmdbCounters(
            directory, "fortnight", durability="none", environment=self._writer.environment
        )
        self._new = live // (DAYS_KEPT * STEPS_A_DAY)  # in an hour
        self._known = live // 20
        self._chance = np.random.default_rng(1)
        self._born = 0
        self._place = FIRST_RECORD
        self.scans_s: list[float] = []
        self.scans_cpu_s: list[float] = []
        self.frees_s: list[float] = []
        self.alone_s: list[float] = []

    def hour(self, now: float) -> None:
        """Count an hour's mail, and purge an hour's share."""
        new = [
            Shingle(1, number * SPREAD % 2**64)
            for number in range(self._born, self._born + self._new)
        ]
        self._born += self._new
        often = self._often(int(self._new / NEW_SHARE * (1 - NEW_SHARE)))
        again = [Shingle(2, number * SPREAD % 2**64) for number in often.tolist()]
        every = new + again
        parts = max(math.ceil(len(every) / FLUSHED), TIMED)
        share = self._entries() * STEP_S / PURGE_ROUND_S
        paced = max(PURGE_LEAST, int(self._entries() / PURGE_ROUND_S))
        for part in range(parts):
            self._worker.add(
                CountedPieces(shingles=tuple(every[part::parts]), pairs=()), Amounts(seen=1), now
            )
            self._worker.flush(now)
            self._writer.step(now)
            self._time(now, paced)
        self._place = self._writer.purge(now, max(int(share) - parts * paced, 1)).next

    def size(self) -> tuple[int, int, int]:
        """Return (bytes of the file, bytes in use, records)."""
        stat = self._writer.environment.stat()
        used = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
        return (
            (self._directory / state_files.COUNTERS_DATA).stat().st_size,
            used * stat["psize"],
            stat["entries"],
        )

    def close(self) -> None:
        """Let go of the store."""
        self._worker.close()
        self._writer.close()

    def _entries(self) -> int:
        return int(self._writer.environment.stat()["entries"])

    def _often(self, count: int) -> npt.NDArray[np.int64]:
        return self._chance.zipf(ZIPF, count) % self._known

    def _time(self, now: float, limit: int) -> None:
        began, began_cpu = time.perf_counter(), time.thread_time()
        with self._writer.environment.begin() as txn:
            purged = purge_from(txn, self._place, bucket_of(now), limit)
        self.scans_s.append(time.perf_counter() - began)
        self.scans_cpu_s.append(time.thread_time() - began_cpu)
        if purged.changes:
            with self._writer.environment.begin(write=True) as txn:
                began = time.perf_counter()
                for key, stored in purged.changes:
                    if stored:
                        txn.put(key, stored)
                    else:
                        txn.delete(key)
                self.frees_s.append(time.perf_counter() - began)
                txn.abort()
        began = time.perf_counter()
        self._place = self._writer.purge(now, limit).next
        if purged.changes:
            self.alone_s.append(time.perf_counter() - began)


def said(name: str, seconds: list[float]) -> str:
    """Return one line on durations."""
    if not seconds:
        return f"{name:14} none"
    p50, p99 = np.quantile(seconds, [0.5, 0.99]) * 1000
    return (
        f"{name:14} {len(seconds):6} times, ms: p50 {p50:.2f}, p99 {p99:.2f}, max "
        f"{max(seconds) * 1000:.2f}"
    )


def main() -> None:
    """Simulate, and print a line a day."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--live", type=int, default=10_000_000, help="shingles in the windows")
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--durability", choices=["second", "none"], default="second")
    parser.add_argument(
        "--directory", help="where to make the store; else where temporary files go"
    )
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        simulation = Simulation(Path(folder), options.live, options.durability)
        print("day   records      file MB   used MB   s")
        for day in range(options.days):
            for hour in range(STEPS_A_DAY):
                simulation.hour(START + day * DAY_S + hour * STEP_S)
            file, used, records = simulation.size()
            took = time.perf_counter() - began
            print(
                f"{day + 1:3} {records:11,} {file / 2**20:10,.0f} {used / 2**20:9,.0f} {took:6.0f}",
                flush=True,
            )
        simulation.close()
    print(said("scan", simulation.scans_s))
    print(said("scan, CPU time", simulation.scans_cpu_s))
    print(said("free", simulation.frees_s))
    print(said("alone", simulation.alone_s))


if __name__ == "__main__":
    main()
