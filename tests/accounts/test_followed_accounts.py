"""A worker follows whose mail is not taken, and keeps what it knew when the file goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.account import (
    AccountBlock,
    AccountNetwork,
    AccountRecord,
    AccountState,
    Customer,
    Registration,
    Trust,
)
from oborona.accounts.followed_accounts import BANS, FollowedAccounts
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.ratings import rate_account
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy

ROOT = Path(__file__).parents[2]
NOW = 1_795_000_000.0
BAN = AccountBlock(account="joe", state=AccountState.BANNED, until=0.0, why="spam", by="anna")
JOE = AccountRecord(id="joe", logins=("joe@example.com",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.ACCOUNTS


@pytest.fixture
def followed(path: Path) -> Iterator[FollowedAccounts]:
    running = FollowedAccounts(path)
    yield running
    running.close()


def test_no_file_is_no_trouble_until_there_was_one(
    path: Path, followed: FollowedAccounts, caplog: pytest.LogCaptureFixture
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
    path: Path, followed: FollowedAccounts
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


def test_what_messages_are_judged_by_is_followed(path: Path, followed: FollowedAccounts) -> None:
    known = followed.directory
    firm, far = Customer(id="firm"), NOW + 60
    with AccountStore(path) as store:
        ann = AccountRecord(
            id="ann",
            logins=("ann", "ann@a.example"),
            customer=firm,
            networks=(AccountNetwork(network="192.0.2.0/24"),),
            registration=Registration(time=NOW - 86_400),
        )
        store.put([JOE, ann], by="anna", now=NOW)
        followed.look()
        assert len(known) == 2
        sender = known.sender("ANN", "")
        assert sender is not None
        assert (sender.customer, sender.rating, sender.age_days(NOW)) == ("firm", 100, 1.0)
        assert known.sender("", "192.0.2.7") is sender
        assert not sender.trusted(NOW)

        store.trust("ann", Trust(by="anna", at=NOW, until=far, why="known"))
        followed.look()
        sender = known.sender("ann@a.example", "")
        assert sender is not None
        assert (sender.trusted(NOW), sender.trusted(far)) == (True, False)

        # a login and a network that go to another account, in one import
        given = AccountRecord(id="ann", logins=("ann",))
        taken = AccountRecord(
            id="joe",
            logins=("joe@example.com", "ann@a.example"),
            networks=(AccountNetwork(network="192.0.2.0/25"),),
        )
        store.put([given, taken], by="anna", now=NOW)
        followed.look()
        assert [
            one and one.id for one in (known.sender(x, "") for x in ("ann", "ann@a.example"))
        ] == ["ann", "joe"]
        assert known.network("192.0.2.7") == "192.0.2.0/25"
        assert known.network("192.0.2.200") == ""

        store.forget("joe", now=NOW)
        followed.look()
        assert known.sender("joe@example.com", "192.0.2.7") is None
        assert known.network("192.0.2.7") == ""
        assert len(known) == 1


def test_a_rating_is_followed_once_it_has_changed(path: Path, followed: FollowedAccounts) -> None:
    policy = load_policy(ROOT / "etc/policy.d", SCHEMA)
    with AccountStore(path) as store:
        young = AccountRecord(id="ann", logins=("ann",), since=NOW - 60)
        store.put([young], by="anna", now=NOW)
        followed.look()
        for _ in range(2):
            account = store.find("ann")
            assert account is not None
            before = store.version()
            rate_account(store, account, policy.account_tests, NOW)
        assert store.version() == before, "what has not changed is no change"
        followed.look()
        sender = followed.directory.sender("ann", "")
        assert sender is not None
        assert sender.rating == 80


def test_thousands_of_accounts_are_read_and_one_change_is_one_row(
    path: Path, followed: FollowedAccounts
) -> None:
    with AccountStore(path) as store:
        many = [AccountRecord(id=f"a{n}", logins=(f"u{n}@a.example",)) for n in range(5_000)]
        store.put(many, by="anna", now=NOW)
        followed.look()
        assert len(followed.directory) == 5_000
        version = store.version()
        store.trust("a77", Trust(by="anna", at=NOW, until=0.0, why="known"))
        changes = store.followed(version, NOW)
        assert [account.id for account in changes.accounts] == ["a77"]
        assert not changes.anew
        store.forget("a78", now=NOW)
        changes = store.followed(version, NOW)
        assert (len(changes.accounts), changes.anew) == (4_999, True)
