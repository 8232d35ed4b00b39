"""When a data file is read as a whole before it is opened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest

from oborona import state_files
from oborona.counters import file_check
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import DamagedStore, LmdbReader, missing
from oborona.counters.lmdb_write import LmdbWriteEnvironment
from oborona.counters.writer import LmdbCounterWriter

from .pages import PAGE, break_branches

WRITE = """
import logging, sys
from oborona.counters.writer import LmdbCounterWriter
logging.basicConfig(format="%(message)s")
writer = LmdbCounterWriter(sys.argv[1], doorkeeper_bytes=0)
print(writer.verify().records, flush=True)
if len(sys.argv) > 2:
    sys.stdin.read()
writer.close()
"""


def reports_of_opening(directory: Path, durability: Durability) -> list[str]:
    reports: list[str] = []
    LmdbCounterWriter(
        directory, durability=durability, doorkeeper_bytes=0, report=reports.append
    ).close()
    return reports


def reboot(monkeypatch: pytest.MonkeyPatch, boot: Path) -> None:
    boot.write_text("another run of the machine\n")
    monkeypatch.setattr(file_check, "BOOT", boot)


@pytest.mark.parametrize("durability", ["second", "commit", "none"])
def test_not_one_that_this_store_opened_last(tmp_path: Path, durability: Durability) -> None:
    assert [reports_of_opening(tmp_path, durability) for _ in range(3)] == [[], [], []]


def test_one_that_was_copied(tmp_path: Path) -> None:
    reports_of_opening(tmp_path / "here", "second")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    [report] = reports_of_opening(tmp_path / "there", "second")
    assert "was copied here" in report
    assert reports_of_opening(tmp_path / "there", "second") == []


def test_one_whose_note_is_no_note(tmp_path: Path) -> None:
    reports_of_opening(tmp_path, "second")
    (tmp_path / state_files.COUNTERS_NOTE).write_bytes(b"\0" * 60)
    assert len(reports_of_opening(tmp_path, "second")) == 1
    assert reports_of_opening(tmp_path, "second") == []


def test_one_without_syncs_after_a_reboot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports_of_opening(tmp_path / "store", "none")
    reboot(monkeypatch, tmp_path / "boot")
    assert len(reports_of_opening(tmp_path / "store", "none")) == 1
    assert reports_of_opening(tmp_path / "store", "none") == []


def test_not_one_with_syncs_after_a_reboot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports_of_opening(tmp_path / "store", "none")
    reports_of_opening(tmp_path / "store", "second")  # which brings all to the disk
    reboot(monkeypatch, tmp_path / "boot")
    assert reports_of_opening(tmp_path / "store", "second") == []


def test_one_without_syncs_where_nobody_says_which_run_of_the_machine_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under ProcSubset=pid: /proc has no sys."""
    monkeypatch.setattr(file_check, "BOOT", tmp_path / "proc/sys/kernel/random/boot_id")
    assert [reports_of_opening(tmp_path / "synced", "second") for _ in range(2)] == [[], []]
    assert reports_of_opening(tmp_path / "store", "none") == []
    for _ in range(2):
        [report] = reports_of_opening(tmp_path / "store", "none")
        assert "boot_id can't be read" in report
    monkeypatch.undo()
    assert len(reports_of_opening(tmp_path / "store", "none")) == 1
    assert reports_of_opening(tmp_path / "store", "none") == []


def test_a_page_that_is_not_what_it_should_be_sets_a_copy_aside(tmp_path: Path) -> None:
    reports_of_opening(tmp_path / "here", "second")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    path = tmp_path / "there" / state_files.COUNTERS_DATA
    sound = path.read_bytes()
    assert len(sound) > 2 * PAGE
    path.write_bytes(sound[: 2 * PAGE] + b"\xff" * (len(sound) - 2 * PAGE))
    reports_of_opening(tmp_path / "there", "second")
    assert len(list((tmp_path / "there").glob(f"{state_files.COUNTERS_DATA}.damaged-*"))) == 1


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A store whose tree has a branch."""
    writer = LmdbCounterWriter(tmp_path, doorkeeper_bytes=0)
    with writer.environment.begin(write=True) as txn:
        for number in range(2000):
            txn.put(b"\1" + number.to_bytes(9), bytes(8))
    writer.close()
    return tmp_path


def write(directory: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", WRITE, os.fspath(directory)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def write_and_die(directory: Path) -> None:
    words = [sys.executable, "-c", WRITE, os.fspath(directory), "and wait"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()


def test_a_page_that_ends_its_writers_does_so_twice(large: Path) -> None:
    break_branches(large / state_files.COUNTERS_DATA)
    for _ in range(2):
        assert write(large).returncode == -signal.SIGABRT
        assert list(large.glob(f"{state_files.COUNTERS_DATA}.damaged-*")) == []
    third = write(large)
    assert (third.returncode, third.stdout) == (0, "0\n")
    assert "all of it is read first" in third.stderr
    assert "is damaged" in third.stderr
    assert len(list(large.glob(f"{state_files.COUNTERS_DATA}.damaged-*"))) == 1
    fourth = write(large)
    assert (fourth.returncode, fourth.stderr) == (0, "")


def test_a_sound_one_whose_writers_were_killed_is_read_and_kept(large: Path) -> None:
    reports = []
    for _ in range(2):
        write_and_die(large)
        reports.append(write(large).stderr)  # in order, which tells nothing of the other
    assert reports[0] == ""
    assert "all of it is read first" in reports[1]
    assert write(large).stdout == "2000\n"


def test_a_minute_of_writing_ends_the_row(large: Path) -> None:
    for _ in range(2):
        write_and_die(large)
    noted = (large / state_files.COUNTERS_NOTE).stat().st_mtime
    os.utime(large / state_files.COUNTERS_DATA, (noted + file_check.RUN_S,) * 2)
    assert reports_of_opening(large, "second") == []


def test_an_error_while_writing_has_it_read_when_it_is_opened_again(large: Path) -> None:
    store = LmdbWriteEnvironment(large, 1 << 24, sync=True, report=print)

    def meet_a_wrong_page(txn: lmdb.Transaction[bytes]) -> None:
        raise lmdb.CorruptedError("a page was wrong")

    with pytest.raises(DamagedStore):
        store.within(meet_a_wrong_page)
    store.close()
    [report] = reports_of_opening(large, "second")
    assert "came to an error" in report


def test_one_that_was_emptied_is_begun_anew_and_this_is_said(large: Path) -> None:
    os.truncate(large / state_files.COUNTERS_DATA, 0)
    [report] = reports_of_opening(large, "second")
    assert "a new store is begun" in report
    assert reports_of_opening(large, "second") == []


KEYS = [b"\1" + number.to_bytes(9) for number in range(300)]


def fill(txn: lmdb.Transaction[bytes]) -> None:
    for key in KEYS:
        txn.put(key, bytes(20))


def take_pages_and_give_them_back(txn: lmdb.Transaction[bytes], chance: random.Random) -> None:
    for key in chance.sample(KEYS, 20):
        txn.put(key, bytes(3000))
    for key in chance.sample(KEYS, 200):
        txn.delete(key)


def test_a_writer_leaves_none_that_is_shorter_than_its_pages(tmp_path: Path) -> None:
    short = []
    for number in range(10):
        (tmp_path / str(number)).mkdir()
        store = LmdbWriteEnvironment(tmp_path / str(number), 1 << 24, sync=False, report=print)
        store.within(fill)
        chance = random.Random(number)
        for _ in range(4):
            with store.environment.begin(write=True) as txn:
                take_pages_and_give_them_back(txn, chance)
            short.append(missing(store.environment, store.directory))
            store.within(lambda txn, chance=chance: take_pages_and_give_them_back(txn, chance))  # type: ignore[misc]
            assert missing(store.environment, store.directory) == 0
        store.close()
    assert any(short), "LMDB by itself leaves none either"


@pytest.mark.parametrize("length", [2 * PAGE, 5 * PAGE])
def test_one_that_was_cut_is_refused_by_readers(large: Path, length: int) -> None:
    os.truncate(large / state_files.COUNTERS_DATA, length)
    reader = LmdbReader(large)
    with pytest.raises(DamagedStore, match="shorter than its pages"), reader.transaction():
        pass
    assert (large / state_files.COUNTERS_DATA).stat().st_size == length
