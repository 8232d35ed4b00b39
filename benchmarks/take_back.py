"""What taking back costs beside adding: in a worker, in the writer, and in reads.

One store, one process, nothing else on it.

    python benchmarks/take_back.py [--messages 2000]

Messages of 40 shingles, half of them among 300 that have a day's history, half never seen before.
Each is added, and taken back again in the same bucket. Microseconds of CPU a message, the least of
five runs; docs/operate/counters.md has the table.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, Shingle

NOON: Final = 20_000 * 86_400 + 43_200.0
HOT: Final = 300
HISTORY_S: Final = 300  # between two messages of the history
RUNS: Final = 5
SPAM: Final = Amounts(seen=1, spam=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--messages", type=int, default=2000)
    messages = parser.parse_args().messages
    runs = [measured(messages) for _ in range(RUNS)]
    print(f"{messages} messages of 40 shingles, µs of CPU a message, least of {RUNS} runs")
    for name in runs[0]:
        print(f"{name:<42}{min(run[name] for run in runs):8.1f}")


def measured(count: int) -> dict[str, float]:
    """Return what each part took."""
    drawn = random.Random(5)  # noqa: S311 - the same in each run
    hot = [Shingle(8, drawn.getrandbits(64)) for _ in range(HOT)]
    messages = [
        CountedPieces(
            shingles=(
                *drawn.sample(hot, 20),
                *(Shingle(9, drawn.getrandbits(64)) for _ in range(20)),
            ),
            pairs=(),
        )
        for _ in range(count)
    ]
    with tempfile.TemporaryDirectory() as folder:
        writer = LmdbCounterWriter(Path(folder), durability="none")
        worker = LmdbCounters(
            Path(folder), "bench", environment=writer.environment, durability="none"
        )
        for ago in range(86_400, 0, -HISTORY_S):
            worker.add(CountedPieces(shingles=tuple(hot), pairs=()), SPAM, NOON - ago)
            worker.flush(NOON)
            writer.step(NOON)

        def timed(work: Callable[[], object]) -> float:
            began = time.process_time()
            work()
            return (time.process_time() - began) / count * 1e6

        def add() -> None:
            for one in messages:
                worker.add(one, SPAM, NOON)

        def take_back() -> None:
            for one in messages:
                worker.take_back(one.shingles, SPAM, NOON)

        def apply() -> None:
            worker.flush(NOON)
            writer.step(NOON)

        found = {
            "add, in the worker": timed(add),
            "add, flush and writer": timed(apply),
            "read": timed(lambda: read_all(worker, messages)),
            "take back, in the worker": timed(take_back),
            "read, while take-backs wait to be flushed": timed(lambda: read_all(worker, messages)),
            "take back, flush and writer": timed(apply),
            "read, when all is taken back": timed(lambda: read_all(worker, messages)),
        }
        worker.close()
        writer.close()
    return found


def read_all(worker: LmdbCounters, messages: list[CountedPieces]) -> None:
    async def read() -> None:
        for message in messages:
            await worker.read(message.shingles, NOON)

    asyncio.run(read())


if __name__ == "__main__":
    main()
