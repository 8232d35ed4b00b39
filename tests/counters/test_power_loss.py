"""What is left after the power was cut: real workers and a real writer are recorded, then cut off
at many moments.

`power.c` records what they ask of their files, `disk.py` says what a disk may hold at a moment, and
a new writer has to make a sound store of it, with every flush that is old enough in it, once. The
calls in which a sync ends are among the moments: that is when most was waiting for it.
"""

from __future__ import annotations

import filecmp
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from oborona import state_files
from oborona.counters.durability import Durability
from oborona.counters.spool import SUFFIX
from oborona.counters.store import LmdbCounters
from oborona.types import Amounts, CountedPieces, Shingle

from .disk import Call, Disk, Kind, calls
from .load import SAID, STORE, Nursery, found, misfits, open_writer

WORKERS = 3
PAUSE_S = 0.03
SECOND_NS = 10**9
USUAL_NS = (
    SECOND_NS // 8
)  # between two flushes; what a busy machine takes longer is not held against the store
HERE = Path(__file__).parent


class Recorded(NamedTuple):
    disk: Disk  # as it was before
    calls: list[Call]


Recording = Callable[[Durability, Callable[[Nursery], None]], Recorded]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("power") / "power.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", built, HERE / "power.c"], check=True)
    return built


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "disk"
    made.mkdir()
    (made / SAID).mkdir()
    (made / STORE).mkdir()
    return made


@pytest.fixture
def recording(root: Path, shim: Path) -> Recording:
    def record(durability: Durability, live: Callable[[Nursery], None]) -> Recorded:
        disk = Disk(root)
        log = root.with_suffix(".log")
        watched = {
            "LD_PRELOAD": os.fspath(shim),
            "POWER_ROOT": os.fspath(root),
            "POWER_LOG": os.fspath(log),
        }
        nursery = Nursery(root, durability, environment=watched)
        try:
            live(nursery)
        finally:
            nursery.close()
        return Recorded(disk, list(calls(log)))

    return record


def a_day(nursery: Nursery) -> None:
    """Workers and a writer come and go.

    The writer is away for long enough that spools have to hold what is due.
    """
    writer = nursery.writer()
    first = nursery.worker(0, PAUSE_S)
    nursery.worker(1, PAUSE_S)
    time.sleep(1)
    nursery.kill(first)
    nursery.worker(2, PAUSE_S)
    time.sleep(0.8)
    nursery.stop(writer)
    time.sleep(1.8)
    nursery.writer()
    time.sleep(1)


def moments(recorded: Recorded, chance: random.Random) -> set[int]:
    """Return the numbers of the calls to be cut off in."""
    ends = [
        number
        for number, call in enumerate(recorded.calls)
        if call.kind == Kind.SYNC_END and call.path.endswith(SUFFIX)
    ]
    anywhere = chance.sample(range(len(recorded.calls)), 60)
    return {*anywhere, *chance.sample(ends, min(len(ends), 20))}


def cuts(
    recorded: Recorded, target: Path, chance: random.Random
) -> Iterator[tuple[Path, Call, dict[int, list[int]]]]:
    """Yield what the disk holds, the call cut off, and by worker when it said that a flush was
    done, in nanoseconds.
    """
    said: dict[int, list[int]] = {worker: [] for worker in range(WORKERS)}
    chosen = moments(recorded, chance)
    for number, call in enumerate(recorded.calls):
        if number in chosen:
            where = target / str(number)
            recorded.disk.cut(where, chance, call)
            yield where, call, said
        if call.kind == Kind.WRITE and Path(call.path).parent.name == SAID:
            said[int(Path(call.path).name)].append(call.time_ns)
        recorded.disk.tell(call)


class Judged(NamedTuple):
    problems: list[str]  # of the store: it must not have any
    counts: list[str]  # what is counted by halves or twice
    lost: list[int]  # when what is missing was said to be flushed
    reports: list[str]


def judge(where: Path, durability: Durability, said: dict[int, list[int]]) -> Judged:
    """Open what is left, let it apply all, go on with it, and say what is wrong."""
    reports: list[str] = []
    now = time.time()
    writer = open_writer(where, durability, reports.append)
    while writer.step(now):
        pass
    there = found(writer, {worker: len(times) + 2 for worker, times in said.items()})
    worker = LmdbCounters(where / STORE, "afterwards", environment=writer.environment)
    worker.add(CountedPieces(shingles=(Shingle(9, 1),), pairs=()), Amounts(seen=1, spam=1), now)
    worker.flush(now)
    goes_on = writer.step(now) == 1
    problems = writer.verify().problems
    worker.close()
    writer.close()
    problems += misfits(where / STORE)
    lost = [
        at
        for worker, times in said.items()
        for flush, at in enumerate(times)
        if not there.flushes[worker][flush]
    ]
    return Judged(
        problems if goes_on else [*problems, "it does not go on"], there.problems, lost, reports
    )


def set_aside(where: Path) -> list[Path]:
    return list((where / STORE).glob("*damaged*"))


def test_the_record_is_what_is_on_the_disk(
    root: Path, recording: Recording, tmp_path: Path
) -> None:
    def live(nursery: Nursery) -> None:
        nursery.writer()
        worker = nursery.worker(0, PAUSE_S)
        time.sleep(1)
        nursery.kill(worker)
        time.sleep(2)  # the writer applies the rest, and syncs all it has

    recorded = recording("second", live)
    for call in recorded.calls:
        recorded.disk.tell(call)
    recorded.disk.whole(tmp_path / "whole")
    names = [
        path.relative_to(root)
        for path in root.rglob("*")
        if path.is_file() and path.name != state_files.COUNTERS_READERS
    ]
    assert Path(STORE, state_files.COUNTERS_DATA) in names
    same, different, missing = filecmp.cmpfiles(
        root, tmp_path / "whole", list(map(str, names)), shallow=False
    )
    assert (different, missing) == ([], [])
    assert len(same) == len(names)


@pytest.mark.slow
def test_all_but_the_last_second_survives(root: Path, recording: Recording, tmp_path: Path) -> None:
    open_writer(root, "second", print).close()
    recorded = recording("second", a_day)
    torn = young = 0
    for where, call, said in cuts(recorded, tmp_path, random.Random(1)):
        longest = max(
            (after - before for times in said.values() for before, after in pairwise(times)),
            default=0,
        )
        due = call.time_ns - SECOND_NS - max(longest - USUAL_NS, 0)
        judged = judge(where, "second", said)
        assert (judged.problems, judged.counts, set_aside(where)) == ([], [], [])
        assert [at for at in judged.lost if at < due] == []
        torn += any("no whole record" in line for line in judged.reports)
        young += len(judged.lost)
    assert torn  # or the disk keeps more than it has to
    assert young


@pytest.mark.slow
def test_with_commit_all_that_was_flushed_survives_in_a_new_store_too(
    recording: Recording, tmp_path: Path
) -> None:
    recorded = recording("commit", a_day)
    begun = next(call.time_ns for call in recorded.calls if call.synced)  # LMDB's first commit
    for where, call, said in cuts(recorded, tmp_path, random.Random(2)):
        judged = judge(where, "commit", said)
        assert (judged.problems, judged.counts, judged.lost) == ([], [], [])
        assert call.time_ns <= begun or set_aside(where) == []


@pytest.mark.slow
def test_without_syncs_a_store_is_sound_or_set_aside(
    root: Path, recording: Recording, tmp_path: Path
) -> None:
    open_writer(root, "none", print).close()
    recorded = recording("none", a_day)
    outcomes = set()
    for where, _call, said in cuts(recorded, tmp_path, random.Random(3)):
        judged = judge(where, "none", said)
        assert judged.problems == []
        outcomes.add(bool(set_aside(where)))
    assert outcomes == {True, False}
