"""A disk without room: nothing is delivered by halves, nothing is lost, and it goes on later."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from oborona.errors import StoreError
from oborona.eventlog.batch.store import LogBatch
from tests.eventlog.worlds import CheckedLog, made_rows, opened_log, tree


@contextmanager
def files_of_at_most(octets: int) -> Iterator[None]:
    """No file of this process grows beyond a size meanwhile: EFBIG, in the place of ENOSPC."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("octets", [3_000, 6_000, 9_000])
def test_a_batch_waits_for_room_and_comes_to_the_same(tmp_path: Path, octets: int) -> None:
    tables = made_rows(41, 3, 1_500)
    calm, state = tmp_path / "calm", tmp_path / "state"
    with opened_log(calm) as log:
        for name, rows in tables.items():
            log.deliver(name, rows)
    shutil.copytree(calm, state)
    with opened_log(calm) as log:
        log.check()
    with opened_log(state) as log:
        batch = log.checker._begun()
        assert batch is not None
        with files_of_at_most(octets), pytest.raises(StoreError):
            compute(log, batch)
        assert log.store.checked("clicks") == []
        assert all(path.stat().st_size <= octets for path in written(log))
        log.check()
    assert tree(calm / "logs") == tree(state / "logs")


def compute(log: CheckedLog, batch: LogBatch) -> None:
    """Write the files of a batch, and no row of the store."""
    tables = log.checker._read(batch, {})
    log.checker._write_histories(tables)
    log.checker._check(batch, tables)


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 1024)


def written(log: CheckedLog) -> list[Path]:
    """Return the files that a batch has written."""
    folders = ("checked", "history")
    return [path for name in folders for path in (log.folder.path / name).rglob("*.parquet")]


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own is mounted by root alone")
def test_a_file_system_that_is_full(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.system(f"mount -t tmpfs -o size=600k none {small} 2>/dev/null"):
        pytest.skip("no file system can be mounted here")
    try:
        (small / "logs").mkdir()
        tables = made_rows(42, 4, 4_000)
        with opened_log(small) as log:
            for name, rows in list(tables.items())[:2]:
                log.deliver(name, rows)
            ballast = small / "ballast"
            fill(ballast)
            with pytest.raises(StoreError, match=r"No space|no room"):
                log.checker.step()
            assert log.store.checked("clicks") == []
            ballast.unlink()
            log.check()
            assert len(log.store.checked("clicks")) == 2
    finally:
        os.system(f"umount {small}")
