"""What stores take on the disk, and how far the writer is behind, as files tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona import state_files
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.daemon import store_figures
from oborona.daemon.store_figures import BYTES, COUNTERS_BEHIND, COUNTERS_WAITING, FREE
from oborona.daemon.store_figures import look_at_stores as look
from oborona.types import Amounts, CountedPieces, Shingle

NOW = 1_800_000_000.0


def test_where_nothing_is_there_is_no_figure(tmp_path: Path) -> None:
    told = look(tmp_path / "nowhere", NOW)
    assert told.values[BYTES.name] == []
    assert set(told.values) == {BYTES.name}


def test_a_store_is_told_with_its_log_and_a_folder_with_all_below(tmp_path: Path) -> None:
    (tmp_path / state_files.JOURNAL).write_bytes(bytes(8192))
    (tmp_path / f"{state_files.JOURNAL}-wal").write_bytes(bytes(4096))
    below = tmp_path / state_files.INDEX / "deeper"
    below.mkdir(parents=True)
    for name in ("a", "b"):
        (below / name).write_bytes(bytes(4096))
    (below / "loop").symlink_to(tmp_path)
    told = look(tmp_path, NOW)
    sizes = {labels[0]: value for labels, value in told.values[BYTES.name]}
    assert sizes[state_files.JOURNAL] >= 3 * 4096
    assert 2 * 4096 <= sizes[state_files.INDEX] < 4 * 4096
    ((_, free),) = told.values[FREE.name]
    assert free > 0


def test_a_folder_of_very_many_files_is_not_walked_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_figures, "MOST_FILES", 3)
    folder = tmp_path / state_files.SEARCH
    folder.mkdir()
    for number in range(9):
        (folder / str(number)).write_bytes(bytes(4096))
    ((_, size),) = look(tmp_path, NOW).values[BYTES.name]
    assert size == 3 * 4096


def test_counts_that_wait_for_the_writer_have_an_age(tmp_path: Path) -> None:
    directory = tmp_path / state_files.COUNTERS
    directory.mkdir()
    LmdbCounterWriter(directory).close()
    worker = LmdbCounters(directory, "worker-0")
    shingles = (Shingle(8, 1), Shingle(8, 2))
    worker.add(CountedPieces(shingles=shingles, pairs=()), Amounts(seen=1), NOW)
    worker.flush(NOW)
    worker.close()
    told = look(tmp_path, NOW + 7.0)
    assert told.values[COUNTERS_BEHIND.name] == [((), 7.0)]
    ((_, waiting),) = told.values[COUNTERS_WAITING.name]
    assert waiting > 0
    writer = LmdbCounterWriter(directory)  # one process opens a store once
    writer.step(NOW)
    writer.close()
    told = look(tmp_path, NOW + 9.0)
    assert told.values[COUNTERS_BEHIND.name] == [((), 0.0)]
    assert told.values[COUNTERS_WAITING.name] == [((), 0)]


def test_a_store_that_can_not_be_read_has_no_lag_and_stops_nothing(tmp_path: Path) -> None:
    directory = tmp_path / state_files.COUNTERS
    directory.mkdir()
    (directory / state_files.COUNTERS_DATA).write_bytes(b"no store" * 1000)
    told = look(tmp_path, NOW)
    assert COUNTERS_BEHIND.name not in told.values
    assert told.values[BYTES.name]
