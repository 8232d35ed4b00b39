"""Files are followed: who changes one rings, who hears nothing looks once a second, and who waits
is not woken while nothing changes.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from oborona import doorbell
from oborona.doorbell import CHANGED, NAMED, RUNG, Doorbell, FileNotices, ring
from oborona.heartbeat import StopSignal

LONG_S = 30.0  # between looks, where only the kernel's word may wake


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("one")
    age(path)
    return path


def age(path: Path) -> None:
    """Let stamps be old enough to be believed."""
    assert path.exists()
    time.sleep(doorbell.COARSE_NS / 1e9)


async def woken(bell: Doorbell, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await bell.rung()
    except TimeoutError:
        return False
    return True


async def test_a_ring_wakes_at_once_each_follower_of_the_file_alone(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "LOOK_S", LONG_S)
    other = tmp_path / "other"
    with Doorbell(path) as one, Doorbell(path) as two, Doorbell(other) as third:
        assert await woken(one, 1)
        assert await woken(two, 1), "whoever begins looks"
        assert await woken(third, 1)
        assert not await woken(one, 0.1)
        ring(path)
        assert await woken(one, 5)
        assert await woken(two, 5)
        assert not await woken(third, 0.1)


async def test_a_ring_while_nobody_waits_is_heard_by_the_next_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "LOOK_S", LONG_S)
    with Doorbell(path) as bell:
        assert await woken(bell, 1)
        ring(path)
        await asyncio.sleep(0.1)
        assert await woken(bell, 0)


@pytest.mark.parametrize("kernel_tells", [True, False])
async def test_what_nobody_rang_for_is_seen_by_the_look(
    path: Path, kernel_tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernel_tells:
        refuse_notices(monkeypatch)
    monkeypatch.setattr(doorbell, "LOOK_S", 0.2)
    with Doorbell(path) as bell:
        assert await woken(bell, 1)
        assert not await woken(bell, 0.5)
        path.write_text("two")  # as long as before
        assert await woken(bell, 5)
        age(path)
        await woken(bell, 0.5)  # a young stamp is looked at once more
        assert not await woken(bell, 0.5)
        path.unlink()
        assert await woken(bell, 5)
        path.write_text("new")
        assert await woken(bell, 5), "one that comes is followed, too"


async def test_a_transaction_of_sqlite_is_seen_by_the_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "LOOK_S", 0.2)
    file = tmp_path / "some.db"
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE number (value INTEGER)")
    age(file)
    with Doorbell(file, sqlite=True) as bell:
        assert await woken(bell, 1)
        assert not await woken(bell, 0.5)
        for number in range(3):
            db.execute("INSERT INTO number VALUES (?)", (number,))
            assert await woken(bell, 5)
            age(file)
            await woken(bell, 0.5)
        db.execute("SELECT * FROM number").fetchall()
        assert not await woken(bell, 0.5), "who reads changes nothing"
    db.close()


async def test_who_has_something_to_do_anyway_is_woken_by_each_look(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "LOOK_S", 0.05)
    busy = True
    with Doorbell(path, anyway=lambda: busy) as bell:
        for _ in range(5):
            assert await woken(bell, 5)
        busy = False
        await woken(bell, 0.1)
        assert not await woken(bell, 0.3)


async def test_the_kernel_is_asked_for_nothing_once_nobody_follows(path: Path) -> None:
    def open_files() -> list[str]:
        links = []
        for file in list(Path("/proc/self/fd").iterdir()):
            with suppress(FileNotFoundError):  # of the listing itself
                links.append(str(file.readlink()))
        return links

    before = open_files().count("anon_inode:inotify")
    for _ in range(3):
        with Doorbell(path), Doorbell(path):
            assert open_files().count("anon_inode:inotify") == before + 1, "one of a loop"
        assert open_files().count("anon_inode:inotify") == before


def test_a_ring_for_what_is_not_there_or_not_ours_says_nothing(tmp_path: Path) -> None:
    ring(tmp_path / "none")
    ring(tmp_path / "none" / "below")
    ring(Path("/proc/1/status"))


def test_notices_tell_what_changes_in_a_folder_and_only_then(tmp_path: Path) -> None:
    notices = FileNotices()
    notices.add(tmp_path, CHANGED)
    notices.add(tmp_path / "none", RUNG)
    assert not notices.drain()
    for change in (
        lambda: (tmp_path / "a").write_text("1"),
        lambda: (tmp_path / "a").write_text("2"),
        lambda: (tmp_path / "a").rename(tmp_path / "b"),
        (tmp_path / "b").unlink,
    ):
        change()
        assert notices.drain()
        assert not notices.drain()
    notices.add(tmp_path, NAMED)  # beside what was asked before
    (tmp_path / "c").write_text("3")
    notices.drain()
    (tmp_path / "c").write_text("4")
    assert notices.drain()
    for number in range(3000):  # more than one read takes
        (tmp_path / f"{number}").touch()
    assert notices.drain()
    assert not notices.drain()
    notices.close()
    notices.add(tmp_path, CHANGED)
    assert not notices.given
    assert not notices.drain()


def test_a_wait_ends_with_a_notice_and_with_the_stop(path: Path) -> None:
    stop, notices = StopSignal(), FileNotices()
    notices.add(path, RUNG)
    for wake in (lambda: ring(path), stop.set):
        threading.Timer(0.1, wake).start()
        began = time.monotonic()
        stop.wait_for(notices.fileno(), 2.5)
        assert time.monotonic() - began < 2
        notices.drain()
    assert stop.is_set()
    began = time.monotonic()
    stop.wait_for(-1, 2.5)
    assert time.monotonic() - began < 2, "it stays set"
    notices.close()


def refuse_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the kernel give no notices, as where its limits are used up."""

    class Refusing:
        def inotify_init1(self, _flags: int) -> int:
            return -1

    monkeypatch.setattr(doorbell, "_libc", Refusing())
