"""When a data file is read as a whole before it is opened."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from oborona.counters import trust
from oborona.counters.durability import Durability
from oborona.counters.lmdb_store import DATA
from oborona.counters.writer import CounterWriter

PAGE = 4096


def reports_of_opening(directory: Path, durability: Durability) -> list[str]:
    reports: list[str] = []
    CounterWriter(directory, durability=durability, doorkeeper_bytes=0, report=reports.append).close()
    return reports


def reboot(monkeypatch: pytest.MonkeyPatch, boot: Path) -> None:
    boot.write_text("another run of the machine\n")
    monkeypatch.setattr(trust, "BOOT", boot)


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
    (tmp_path / trust.NOTE).write_bytes(b"\0" * 60)
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


def test_a_page_that_is_not_what_it_should_be_sets_a_copy_aside(tmp_path: Path) -> None:
    reports_of_opening(tmp_path / "here", "second")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    path = tmp_path / "there" / DATA
    sound = path.read_bytes()
    assert len(sound) > 2 * PAGE
    path.write_bytes(sound[: 2 * PAGE] + b"\xff" * (len(sound) - 2 * PAGE))
    reports_of_opening(tmp_path / "there", "second")
    assert len(list((tmp_path / "there").glob(f"{DATA}.damaged-*"))) == 1
