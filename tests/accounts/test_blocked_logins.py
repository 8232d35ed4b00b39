"""A worker follows whose mail is not taken, and keeps what it knew when the file goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.account import AccountBlock, AccountRecord, AccountState
from oborona.accounts.blocked_logins import BANS, FollowedBlocks
from oborona.accounts.store.accounts import AccountStore

NOW = 1_795_000_000.0
BAN = AccountBlock(account="joe", state=AccountState.BANNED, until=0.0, why="spam", by="anna")
JOE = AccountRecord(id="joe", logins=("joe@example.com",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.ACCOUNTS


@pytest.fixture
def followed(path: Path) -> Iterator[FollowedBlocks]:
    running = FollowedBlocks(path)
    yield running
    running.close()


def test_no_file_is_no_trouble_until_there_was_one(
    path: Path, followed: FollowedBlocks, caplog: pytest.LogCaptureFixture
) -> None:
    followed.look()
    assert not followed.known
    assert not followed.stale
    assert followed.of("joe@example.com", NOW) is None
    with AccountStore(path) as store:
        store.put([JOE], by="anna", now=NOW)
        store.block(BAN, now=NOW)
    followed.look()
    assert followed.known
    assert followed.of("Joe@Example.com", NOW) == BAN
    assert BANS.value("banned") == 1
    path.unlink()
    followed.look()
    followed.look()
    assert followed.stale
    assert followed.of("joe@example.com", NOW) == BAN, "what was known stays"
    messages = [record.message for record in caplog.records]
    assert messages.count("states of accounts stay as they were") == 1
    with AccountStore(path) as store:
        store.put([JOE], by="anna", now=NOW)
    followed.look()
    assert followed.of("joe@example.com", NOW) is None
    assert not followed.stale


def test_a_block_that_is_over_stops_nobody_though_nothing_changed(
    path: Path, followed: FollowedBlocks
) -> None:
    with AccountStore(path) as store:
        store.put([JOE], by="anna", now=NOW)
        far = 4_000_000_000.0
        store.block(
            AccountBlock(account="joe", state=AccountState.LIMITED, until=far, why="x", by="anna"),
            now=NOW,
        )
    followed.look()
    assert followed.of("joe@example.com", far - 1) is not None
    assert followed.of("joe@example.com", far) is None
    assert followed.of("", far - 1) is None
