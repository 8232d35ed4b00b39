"""A folder of messages that changes while it is read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oborona.cli.mailboxes import UnreadableMail, messages
from oborona.desk.owner import as_owner_of

LETTER = b"Subject: Lunch\r\n\r\nAt noon?\r\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Letters in a folder and two below; others than root can get there."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        for place in ("2.eml", "1/a.eml", "3/deep/b.eml"):
            (made / place).parent.mkdir(parents=True, exist_ok=True)
            (made / place).write_bytes(LETTER)
        yield made


def names(folder: Path) -> list[str]:
    return [os.path.relpath(source.name, folder) for source in messages(folder)]


def test_messages_come_in_the_order_of_their_paths(folder: Path) -> None:
    assert names(folder) == ["1/a.eml", "2.eml", "3/deep/b.eml"]


def test_a_folder_that_vanishes_meanwhile_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def scan(path: str) -> object:
        if path.endswith("deep"):
            (Path(path) / "b.eml").unlink()
            Path(path).rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)
    assert names(folder) == ["1/a.eml", "2.eml"]


@contextmanager
def somebody() -> Iterator[None]:
    """Be nobody in particular; root may read everything."""
    if os.geteuid():
        yield
        return
    os.setresuid(65_534, 65_534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_what_root_may_read_is_read_as_the_owner_of_the_state_too(
    folder: Path, tmp_path: Path
) -> None:
    if os.geteuid():
        pytest.skip("only root can be somebody else")
    os.chown(tmp_path, 65_534, 65_534)
    (folder / "3").chmod(0)
    with as_owner_of(tmp_path):
        assert names(folder)[0] == "1/a.eml"
        assert os.geteuid() == 65_534
        for path in folder.rglob("*"):
            assert path.stat().st_uid == 0, "of root alone"
            break


def test_a_folder_that_cannot_be_read_is_said_after_the_others(folder: Path) -> None:
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65_534, 65_534)
    (folder / "3").chmod(0)
    told = messages(folder)
    with somebody():
        found = [os.path.relpath(next(told).name, folder) for _ in range(2)]
        with pytest.raises(UnreadableMail, match="3: Permission denied"):
            next(told)
    (folder / "3").chmod(0o700)
    assert found == ["1/a.eml", "2.eml"]
