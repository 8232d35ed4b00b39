"""Copies of the files of a running store: each opens, or is set aside and said to be damaged.

None ends the process.

A copy that takes longer than the writer between two transactions has pages of different times,
whatever program makes it. LMDB would take them at their word, so the copies are opened by a process
of their own.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from oborona import state_files

from .load import STORE, TABLE_BYTES, Nursery, misfits, open_writer

PARTS = 12
OPEN = f"""
import logging, sys, time
from oborona.counters.writer import LmdbCounterWriter
logging.basicConfig(format="%(message)s")
writer = LmdbCounterWriter(sys.argv[1], doorkeeper_bytes={TABLE_BYTES})
while writer.step(time.time()):
    pass
report = writer.verify()
print(report.records, "records", report.problems)
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A store that is being written to; big enough for pages to be used again."""
    root = tmp_path / "running"
    root.mkdir()
    open_writer(root, "second", print).close()
    nursery = Nursery(root)
    try:
        nursery.writer()
        nursery.worker(0, 0.002)
        nursery.worker(1, 0.002)
        time.sleep(1.5)
        yield root / STORE
    finally:
        nursery.close()


def copied(store: Path, target: Path, pause_s: float) -> Path:
    """Copy as a backup does: the files as they are named, each from its beginning to its end."""
    target.mkdir()
    shutil.copytree(
        store, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(state_files.COUNTERS_DATA)
    )
    with (
        (store / state_files.COUNTERS_DATA).open("rb") as source,
        (target / state_files.COUNTERS_DATA).open("wb") as copy,
    ):
        part = -(-os.fstat(source.fileno()).st_size // PARTS)
        while data := source.read(part):
            copy.write(data)
            time.sleep(pause_s)
    return target


def opened(store: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OPEN, os.fspath(store)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_a_torn_copy_is_set_aside_and_said_to_be_damaged(running: Path, tmp_path: Path) -> None:
    chance = random.Random(1)
    torn = 0
    for number in range(10):
        store = copied(running, tmp_path / str(number), chance.choice([0, 0.005, 0.03]))
        is_sound = misfits(store) == []
        torn += not is_sound
        ran = opened(store)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.endswith("records []\n")
        assert "was copied here" in ran.stderr
        assert bool(list(store.glob(f"{state_files.COUNTERS_DATA}.damaged-*"))) == (not is_sound)
        assert ("is damaged" in ran.stderr) == (not is_sound)
    assert torn


def test_a_copy_made_by_lmdb_is_sound(running: Path, tmp_path: Path) -> None:
    for number in range(3):
        store = tmp_path / str(number)
        store.mkdir()
        with lmdb.open(os.fspath(running), readonly=True, create=False) as environment:
            environment.copy(os.fspath(store), compact=number == 1)
        ran = opened(store)
        assert (ran.returncode, list(store.glob("*damaged*"))) == (0, []), ran.stderr
        assert ran.stdout.endswith("records []\n")
        assert int(ran.stdout.split()[0]) > 0


def test_a_store_that_was_not_copied_is_not_read_as_a_whole(tmp_path: Path) -> None:
    reports: list[str] = []
    for _ in range(2):
        open_writer(tmp_path, "second", reports.append).close()
    assert reports == []
