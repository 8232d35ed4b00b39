"""A worker follows the store of pins, one that is replaced, and one that can't be read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.stores.pins.follower import PINS, FollowedPins
from oborona.stores.pins.store import PinStore
from oborona.types import Shingle

HERE = Shingle(15, 1)


def pin(flag: ReputationFlag = ReputationFlag.BAD, number: int = 1) -> Pin:
    return Pin(15, number, "192.0.2.1", flag, "x", "anna", time.time())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.PINS


@pytest.fixture
def followed(path: Path) -> Iterator[FollowedPins]:
    running = FollowedPins(path)
    yield running
    running.close()


def flag(followed: FollowedPins) -> str:
    found = followed.of(HERE, time.time())
    assert followed.none_of((HERE,)) is (found is None)
    return "" if found is None else found.flag.value


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.message for one in caplog.records]


def test_a_worker_follows_the_store_and_one_that_is_put_in_its_place(
    path: Path, followed: FollowedPins
) -> None:
    with PinStore(path) as store:
        followed.look()
        assert flag(followed) == ""
        store.put([pin()])
        followed.look()
        assert flag(followed) == "bad"
        assert PINS.value("bad") == 1
        store.clear(HERE, "", by="anna", reason="x", now=time.time())
        store.put([pin(number=2)])
        followed.look()
        assert flag(followed) == ""
    fresh = path.with_name("fresh.db")
    with PinStore(fresh) as store:
        store.put([pin(ReputationFlag.GOOD)])
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    fresh.replace(path)
    followed.look()
    assert flag(followed) == "good"
    assert followed.of(Shingle(15, 2), time.time()) is None, "it was of the other store"


def test_trouble_is_said_once_and_what_was_known_stays(
    path: Path, followed: FollowedPins, caplog: pytest.LogCaptureFixture
) -> None:
    followed.look()
    followed.look()
    assert messages(caplog) == ["manual overrides stay as they were"]
    with PinStore(path) as store:
        store.put([pin()])
    followed.look()
    assert flag(followed) == "bad"
    assert messages(caplog)[1:] == ["manual overrides are read again"]
    path.rename(path.with_suffix(".away"))
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    followed.look()
    followed.look()
    assert (flag(followed), followed.stale) == ("bad", True)
    assert messages(caplog)[2:] == ["manual overrides stay as they were"]
    path.unlink()
    path.with_suffix(".away").rename(path)
    followed.look()
    assert (flag(followed), followed.stale) == ("bad", False)
    assert messages(caplog)[3:] == ["manual overrides are read again"]


def test_what_is_over_takes_no_memory(path: Path, followed: FollowedPins) -> None:
    """As of a list that is imported each day, with other addresses in it."""
    with PinStore(path) as store:
        for day in range(3):
            over = time.time() - 1
            ended = [
                Pin(15, 10 * day + number, "x", ReputationFlag.BAD, "x", "anna", 1.0, over)
                for number in range(2, 9)
            ]
            store.put([*ended, pin()])
            followed.look()
    assert len(followed._book) == 1
    assert flag(followed) == "bad"


def test_what_was_cleared_while_the_store_could_not_be_read_is_not_held_on_to(
    path: Path, followed: FollowedPins
) -> None:
    with PinStore(path) as store:
        store.put([pin()])
        followed.look()
        path.rename(path.with_suffix(".away"))
        followed.look()
        path.with_suffix(".away").rename(path)
        store._db.execute("DELETE FROM pin")  # as a day later
        followed.look()
    assert flag(followed) == ""


def test_one_that_this_version_does_not_know_is_no_reason_to_do_without_the_others(
    path: Path, followed: FollowedPins, caplog: pytest.LogCaptureFixture
) -> None:
    with PinStore(path) as store:
        store.put([pin(), pin(number=2), pin(number=3)])
        store._db.execute("UPDATE pin SET flag = 'odd' WHERE hash = 2")
        store._db.execute("UPDATE pin SET hash = 'none', since = 'x' WHERE hash = 3")  # by hand
        followed.look()
    assert flag(followed) == "bad"
    assert messages(caplog)[-1] == "manual overrides of a newer version are not used"


async def test_a_pin_is_followed_within_a_second(path: Path, followed: FollowedPins) -> None:
    with PinStore(path) as store:
        watching = asyncio.create_task(followed.watch())
        try:
            store.put([pin()])
            async with asyncio.timeout(10):
                while flag(followed) != "bad":  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
        finally:
            watching.cancel()
