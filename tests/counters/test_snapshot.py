"""A copy that is taken while workers and writer go on, and killed, counts each flush once or not at
all, and all that were flushed before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.counters.snapshot import StoreSnapshot

from .load import STORE, TABLE_SYNC_S, Nursery, found, misfits, open_writer

WORKERS = 2
TABLE_BYTES = 16 << 20  # large: of shingles that were never counted none looks like one that was


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    root = tmp_path / "running"
    root.mkdir()
    open_writer(root, "second", print, TABLE_BYTES).close()
    made = Nursery(root, table_bytes=TABLE_BYTES)
    try:
        yield made
    finally:
        made.close()


def restored(store: Path, root: Path, nursery: Nursery) -> dict[int, list[bool]]:
    """Copy a store of this moment, apply what the copy holds, and return which flushes are there.

    Each is whole.
    """
    (root / STORE).mkdir(parents=True)
    snapshot = StoreSnapshot(store)
    snapshot.copy(root / STORE)
    snapshot.close()
    tries = {worker: nursery.said(worker) + 2 for worker in range(WORKERS)}
    assert misfits(root / STORE) == []
    reports: list[str] = []
    writer = open_writer(root, "second", reports.append, TABLE_BYTES)
    try:
        while writer.step(time.time()):
            pass
        there = found(writer, tries)
    finally:
        writer.close()
    assert there.problems == []
    assert not [
        one for one in reports if "doorkeeper" in one or "seen once" in one or "missing" in one
    ]
    return there.flushes


def test_a_copy_of_a_store_at_work(nursery: Nursery, tmp_path: Path) -> None:
    writer = nursery.writer()
    for worker in range(WORKERS):
        nursery.worker(worker, 0.004)
    for number in range(8):
        time.sleep(TABLE_SYNC_S / 3)  # at all places between two syncs of the table
        if number in (3, 6):
            # the copy is of spools that wait, and of a table that was not synced
            nursery.kill(writer)
        before = {worker: nursery.said(worker) for worker in range(WORKERS)}
        flushes = restored(tmp_path / "running" / STORE, tmp_path / str(number), nursery)
        for worker, theirs in flushes.items():
            assert all(theirs[: before[worker]]), "what was flushed before is in it"
            assert theirs == sorted(theirs, reverse=True), "and nothing behind what is not"
        if number in (3, 6):
            writer = nursery.writer()


def test_a_store_that_nobody_has_begun(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    snapshot = StoreSnapshot(tmp_path / "none")
    snapshot.copy(tmp_path / "copy")
    snapshot.close()
    assert [path.name for path in (tmp_path / "copy").iterdir()] == [state_files.COUNTERS_SPOOL]
    assert snapshot.version == 0


def test_a_store_at_rest(tmp_path: Path) -> None:
    open_writer(tmp_path, "second", print).close()
    (tmp_path / "copy").mkdir()
    snapshot = StoreSnapshot(tmp_path / STORE)
    snapshot.copy(tmp_path / "copy")
    snapshot.close()
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {
        state_files.COUNTERS_SPOOL,
        state_files.COUNTERS_DATA,
        state_files.DOORKEEPER,
    }
