"""Load whose every flush can be told apart, from worker processes that may be killed; the writer.

And what must be there.

Flush f of worker w counts shingles of its own once, which go to the doorkeeper, and one that all
flushes of all workers share; it has unique pairs of its own under the worker's U; and it takes back
what the flush before it added under one more that all share, so that of all these the first flush
of each worker is left. So a flush that is lost or counted twice shows, and half a flush too. What a
worker has flushed it says in a file, a line a flush: `said`. Run as a program this is a nursery: it
forks workers and writers from a process that has loaded everything, so that a start costs a few
milliseconds.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, cast

import lmdb.verify

from oborona.counters import doorkeeper_file
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import LmdbReader
from oborona.counters.readonly import ReadOnlyCounters
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, Metric, Shingle, UniquePair, Window

SINGLES: Final = 6
PAIRS: Final = 4
SHARED: Final = Shingle(2, 0)
UNDONE: Final = Shingle(2, 1)
SPREAD: Final = 0x9E3779B97F4A7C15  # odd: one to one over 64 bits, and far apart
SPOOL_BYTES: Final = 40_000  # so that files follow each other
# at 3,000 shingles the chance that two are alike is 0.4 %, the same in each run
TABLE_BYTES: Final = 1 << 20
TABLE_SYNC_S: Final = 0.5  # so that changes to the table are dropped while it is watched
STORE: Final = "store"  # folders of a load
SAID: Final = "said"


def singles(worker: int, flush: int) -> list[Shingle]:
    """Return the shingles that this flush alone counts."""
    first = (worker << 40) + flush * SINGLES
    return [Shingle(1, (first + place) * SPREAD % 2**64) for place in range(SINGLES)]


def pairs(worker: int, flush: int) -> list[UniquePair]:
    """Return the pairs that this flush alone has; all have one U."""
    first = (worker << 32) + flush * PAIRS
    return [
        UniquePair(both=Shingle(30, first + place), distinct=Shingle(31, worker))
        for place in range(PAIRS)
    ]


def work(root: Path, worker: int, pause_s: float, durability: Durability) -> None:
    """Add, flush and say so, for ever."""
    counters = LmdbCounters(
        root / STORE, f"worker-{worker}", durability=durability, file_bytes=SPOOL_BYTES
    )
    said = os.open(root / SAID / str(worker), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    now = time.time()
    for flush in itertools.count():
        before, now = now, time.time()
        pieces = CountedPieces(
            shingles=(*singles(worker, flush), SHARED), pairs=tuple(pairs(worker, flush))
        )
        counters.add(pieces, Amounts(seen=1), now)
        if flush:
            counters.take_back([UNDONE], Amounts(seen=1), before)
        counters.add(CountedPieces(shingles=(UNDONE,), pairs=()), Amounts(seen=1), now)
        counters.flush(now)
        os.write(said, b"%d\n" % flush)
        time.sleep(pause_s)


def open_writer(
    root: Path,
    durability: Durability,
    report: Callable[[str], None],
    table_bytes: int = TABLE_BYTES,
) -> LmdbCounterWriter:
    """Open the store of a load."""
    return LmdbCounterWriter(
        root / STORE,
        map_bytes=1 << 16,
        durability=durability,
        doorkeeper_bytes=table_bytes,
        report=report,
    )


def write(root: Path, durability: Durability, table_bytes: int) -> None:
    """Apply spools until SIGTERM."""
    doorkeeper_file.SYNC_S = TABLE_SYNC_S  # type: ignore[misc]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    writer = open_writer(root, durability, _print, table_bytes)
    writer.run(stop, 0.002)
    writer.close()


def _print(line: str) -> None:
    print(line, file=sys.stderr)


class Found(NamedTuple):
    """What a store has of a load."""

    flushes: dict[int, list[bool]]  # by worker: which of its first flushes are there
    problems: list[str]


def found(writer: LmdbCounterWriter, tries: dict[int, int]) -> Found:
    """Return which flushes a store has, and what is wrong with its counts.

    Args:
        writer: of the store; has applied all.
        tries: by worker, how many flushes may be there at most.
    """
    problems: list[str] = []
    flushes: dict[int, list[bool]] = {}
    for worker, most in tries.items():
        asked = [
            [*singles(worker, flush), *(pair.both for pair in pairs(worker, flush))]
            for flush in range(most)
        ]
        counts = iter(_seen(writer, [*itertools.chain(*asked), pairs(worker, 0)[0].distinct]))
        flushes[worker] = []
        for flush, shingles in enumerate(asked):
            theirs = list(itertools.islice(counts, len(shingles)))
            flushes[worker].append(theirs[0] > 0)
            if theirs != [int(theirs[0] > 0)] * len(theirs):
                problems.append(f"flush {flush} of worker {worker} counts {theirs}")
        distinct = next(counts)
        if distinct != PAIRS * sum(flushes[worker]):
            problems.append(
                f"worker {worker} has {distinct} pairs of {sum(flushes[worker])} flushes"
            )
    [shared] = _seen(writer, [SHARED])
    if shared != sum(map(sum, flushes.values())):
        problems.append(
            f"{shared} flushes are counted, {sum(map(sum, flushes.values()))} are there"
        )
    [undone] = _seen(writer, [UNDONE])
    if undone != sum(any(theirs[:1]) for theirs in flushes.values()):
        problems.append(f"{undone} of what each flush took back from the one before it are left")
    return Found(flushes, problems)


def _seen(writer: LmdbCounterWriter, shingles: Sequence[Shingle]) -> list[int]:
    stored = ReadOnlyCounters(LmdbReader(writer.directory, writer.environment))
    totals = asyncio.run(stored.read(shingles, time.time()))
    return [one[Window.FORTNIGHT][Metric.SEEN] for one in totals]


def misfits(store: Path) -> list[str]:
    """Return how the pages of a store do not fit together, and what of it is neither used nor
    free.
    """
    problems: list[str] = lmdb.verify.verify(os.fspath(store))  # type: ignore[no-untyped-call]
    return problems


class Nursery:
    """Starts and kills workers and writers of one load; `close` kills those that are left.

    Args:
        root: gets the folders of the load.
        durability: theirs.
        table_bytes: of the doorkeeper.
        environment: variables for all of them, beside our own.
    """

    def __init__(
        self,
        root: Path,
        durability: Durability = "second",
        *,
        table_bytes: int = TABLE_BYTES,
        environment: dict[str, str] | None = None,
    ) -> None:
        (root / SAID).mkdir(exist_ok=True)
        self._root = root
        self._table_bytes = table_bytes
        self._process = subprocess.Popen(
            [sys.executable, __file__, os.fspath(root), durability],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )

    def worker(self, number: int, pause_s: float) -> int:
        """Start worker `number`, that pauses after each flush; returns its process id."""
        return self._ask(f"worker {number} {pause_s}")

    def writer(self) -> int:
        """Start a writer; returns its process id."""
        return self._ask(f"writer {self._table_bytes}")

    def kill(self, process: int) -> None:
        """Kill one as the kernel would; it is gone when this returns."""
        self._ask(f"end {process} {signal.SIGKILL}")

    def stop(self, process: int) -> None:
        """Stop a writer as an admin would; it is gone when this returns."""
        self._ask(f"end {process} {signal.SIGTERM}")

    def said(self, worker: int) -> int:
        """Return how many flushes a worker has said to be done."""
        path = self._root / SAID / str(worker)
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def close(self) -> None:
        """Kill all that are left, and end."""
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0

    def _ask(self, order: str) -> int:
        assert self._process.stdin
        assert self._process.stdout
        print(order, file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


def tend(root: Path, durability: Durability, orders: Iterable[str]) -> None:
    """Be the nursery: do what `Nursery` asks for; at the end kill all that are left."""
    left: set[int] = set()
    try:
        for order in orders:
            what, *arguments = order.split()
            if what == "end":
                process = int(arguments[0])
                left.remove(process)
                assert _ended(process, int(arguments[1])), f"process {process} had failed"
            else:
                process = os.fork()
                if not process:
                    _live(root, durability, what, arguments)
                left.add(process)
            print(process, flush=True)
    finally:
        failed = [process for process in left if not _ended(process, signal.SIGKILL)]
        assert not failed, f"processes {failed} had failed"


def _live(root: Path, durability: Durability, what: str, arguments: list[str]) -> NoReturn:
    failed = 1
    try:
        if what == "worker":
            work(root, int(arguments[0]), float(arguments[1]), durability)
        else:
            write(root, durability, int(arguments[0]))
        failed = 0
    except BaseException:  # noqa: BLE001 - a fork of the nursery must not go on as one
        traceback.print_exc()
    os._exit(failed)


def _ended(process: int, number: int) -> bool:
    """End a process with a signal; whether that is what ended it, and well."""
    os.kill(process, number)
    _, status = os.waitpid(process, 0)
    return status == (signal.SIGKILL if number == signal.SIGKILL else 0)


if __name__ == "__main__":
    tend(Path(sys.argv[1]), cast(Durability, sys.argv[2]), sys.stdin)
