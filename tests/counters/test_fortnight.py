"""Weeks of mail in seconds: the store stops growing when its windows are full, and its reads stay
right.

The clock moves in steps of ten minutes; in each some shingles come that never come again, and some
that come often. The purge walks as fast as the writer's `run` lets it, a round in six hours.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import pytest

from oborona import state_files
from oborona.counters.memory import MemoryCounters
from oborona.counters.store import LmdbCounters
from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, DAY_S
from oborona.counters.writer import PURGE_ROUND_S, LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, Shingle

START = 20_000 * DAY_S + 1.0
# days: a fortnight, the day that cells are kept on for set clocks, a purge round after it, and a
# day
FULL_AFTER = 17
DAYS = 26
NEW = 40  # shingles a step
OFTEN = 20
KNOWN = 2_000  # shingles that come often
SAMPLED = 97  # one of so many is held against a dictionary
SPREAD = 0x9E3779B97F4A7C15


class Size(NamedTuple):
    file: int  # bytes
    used: int  # pages
    records: int


def size(writer: LmdbCounterWriter) -> Size:
    stat = writer.environment.stat()
    used = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
    return Size(
        (writer.directory / state_files.COUNTERS_DATA).stat().st_size, used, stat["entries"]
    )


@pytest.mark.slow
async def test_the_file_stops_growing_and_reads_stay_right(tmp_path: Path) -> None:
    chance = random.Random(1)
    writer = LmdbCounterWriter(
        tmp_path, durability="none", doorkeeper_bytes=0, report=lambda _: None
    )
    worker = LmdbCounters(tmp_path, "worker", durability="none", environment=writer.environment)
    model = MemoryCounters()
    sample = {Shingle(2, number) for number in range(0, KNOWN, SAMPLED)}
    sizes: list[Size] = []
    born = 0
    for step in range(DAYS * BUCKETS_A_DAY):
        now = START + step * BUCKET_S
        new = [Shingle(1, number * SPREAD % 2**64) for number in range(born, born + NEW)]
        often = {Shingle(2, int(KNOWN * chance.random() ** 4)) for _ in range(OFTEN)}
        sample |= {one for number, one in enumerate(new, born) if not number % SAMPLED}
        born += NEW
        worker.add(CountedPieces(shingles=(*new, *often), pairs=()), Amounts(seen=1), now)
        model.add(
            CountedPieces(shingles=tuple(sample & {*new, *often}), pairs=()), Amounts(seen=1), now
        )
        worker.flush(now)
        writer.step(now)
        writer.purge(now, writer.environment.stat()["entries"] * BUCKET_S // int(PURGE_ROUND_S) + 1)
        if step % BUCKETS_A_DAY == BUCKETS_A_DAY - 1:
            sizes.append(size(writer))
            asked = sorted(sample)
            assert await worker.read(asked, now) == await model.read(asked, now)
    assert writer.verify().clean
    worker.close()
    writer.close()
    full = sizes[FULL_AFTER]
    for later in sizes[FULL_AFTER + 1 :]:
        assert abs(later.records - full.records) <= full.records // 100
        assert later.used <= full.used * 1.03  # pages come to be as full as random keys make them
        assert later.file <= full.file * 1.03
    assert born > 1.5 * full.records  # far more than it holds has gone through it
