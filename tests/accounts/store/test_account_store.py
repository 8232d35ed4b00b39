"""The file of accounts: what is kept, what follows from it, and what happens when the file is not
what it should be.
"""

from __future__ import annotations

import stat
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
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.rows import DeedKind
from oborona.accounts.store.schema import APPLICATION_ID
from oborona.daemon.state import prepare_state
from oborona.errors import StoreError, StoreVersion

NOW = 1_795_000_000.0
JOE = AccountRecord(
    id="joe",
    logins=("joe@example.com", "joe"),
    customer=Customer(id="c17", name="Joe & Sons", contact="joe@elsewhere.example"),
    name="Joe",
    since=NOW - 86_400,
    networks=(AccountNetwork(network="192.0.2.0/28"),),
    registration=Registration(time=NOW, country="US", phone="+1 202 555 0101"),
)
ANN = AccountRecord(id="ann", logins=("ann@example.com",))


def block(state: AccountState = AccountState.BANNED, until: float = 0.0) -> AccountBlock:
    return AccountBlock(
        account="joe", state=state, until=until, why="spam was sent from it", by="anna"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.ACCOUNTS


@pytest.fixture
def store(path: Path) -> AccountStore:
    opened = AccountStore(path)
    opened.put([JOE, ANN], by="anna", now=NOW)
    return opened


def test_an_account_is_found_by_its_id_and_by_each_login(store: AccountStore) -> None:
    found = store.find("joe")
    assert found is not None
    assert (found.name, found.since, found.first_seen, found.rating) == ("Joe", JOE.since, NOW, 100)
    assert (found.customer, found.networks, found.registration) == (
        JOE.customer,
        JOE.networks,
        JOE.registration,
    )
    assert sorted(found.logins) == sorted(JOE.logins)
    assert store.find("JOE@example.com") == found
    assert store.find("nobody") is None
    assert [of.id for of in store.accounts(now=NOW)] == ["ann", "joe"]
    assert [of.id for of in store.accounts(now=NOW, customer="c17")] == ["joe"]
    assert [of.id for of in store.accounts(now=NOW, most=1)] == ["ann"]


def test_what_is_imported_again_replaces_what_was_told_and_nothing_that_people_said(
    store: AccountStore,
) -> None:
    trust = Trust(by="anna", at=NOW, until=0.0, why="we talked")
    store.trust("joe", trust)
    store.block(block(), now=NOW)
    again = AccountRecord(id="joe", logins=("joe@new.example",), name="Joseph")
    assert store.put([again], by="import", now=NOW + 9) == 0
    found = store.find("joe")
    assert found is not None
    assert (found.name, found.logins, found.networks) == ("Joseph", ("joe@new.example",), ())
    assert (found.first_seen, found.trust) == (NOW, trust)
    assert found.state(NOW) is AccountState.BANNED
    assert found.registration == JOE.registration, "it was told before, and is not now"
    assert store.find("joe@example.com") is None


def test_a_login_of_another_account_is_not_taken_from_it(store: AccountStore) -> None:
    thief = AccountRecord(id="thief", logins=("joe@example.com",))
    with pytest.raises(StoreError, match="is of 'joe'"):
        store.put([AccountRecord(id="new", logins=("new",)), thief], by="anna", now=NOW)
    assert store.find("thief") is None
    assert store.find("new") is None, "all of them or none"


def test_a_ban_names_every_login_until_it_is_over_or_taken_back(store: AccountStore) -> None:
    store.block(block(until=NOW + 60), now=NOW)
    assert set(store.blocked(NOW)) == {"joe@example.com", "joe"}
    assert store.blocked(NOW + 60) == {}
    assert [of.id for of in store.accounts(now=NOW, state=AccountState.BANNED)] == ["joe"]
    assert [of.id for of in store.accounts(now=NOW + 60, state=AccountState.OPEN)] == ["ann", "joe"]
    assert store.unblock("joe", by="bob", why="sorry", now=NOW + 1) == block(until=NOW + 60)
    assert store.unblock("joe", by="bob", why="sorry", now=NOW + 1) is None
    assert store.blocked(NOW) == {}
    assert [deed.what for deed in store.deeds("joe")] == [
        DeedKind.IMPORT,
        DeedKind.BAN,
        DeedKind.UNBAN,
    ]


def test_trust_ends(store: AccountStore) -> None:
    store.trust("joe", Trust(by="anna", at=NOW, until=NOW + 60, why="we talked"))
    found = store.find("joe")
    assert found is not None
    assert found.trusted(NOW + 59)
    assert not found.trusted(NOW + 60)
    store.untrust("joe", by="anna", why="stolen", now=NOW)
    found = store.find("joe")
    assert found is not None
    assert found.trust is None


def test_what_is_forgotten_leaves_nothing_and_a_ban_is_not_escaped_so(
    store: AccountStore, path: Path
) -> None:
    store.block(block(), now=NOW)
    with pytest.raises(StoreError, match="unban it"):
        store.forget("joe", now=NOW)
    store.unblock("joe", by="bob", why="sorry", now=NOW)
    assert store.forget("joe", now=NOW)
    assert not store.forget("joe", now=NOW)
    assert [of.id for of in store.accounts(now=NOW)] == ["ann"]
    store.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    for table in ("customer", "login", "network", "registration", "deed"):
        assert "joe" not in str(store.rows(f"SELECT * FROM {table}")).lower(), table


def test_what_nobody_knows_or_no_line_can_hold_is_refused(store: AccountStore) -> None:
    nobody = AccountBlock(account="nobody", state=AccountState.BANNED, until=0.0, why="x")
    with pytest.raises(StoreError, match="no account"):
        store.block(nobody, now=NOW)
    for why, until in (("x" * 201, 0.0), ("a\nb", 0.0), ("x", -1.0), ("x", float("nan"))):
        wrong = AccountBlock(account="joe", state=AccountState.BANNED, until=until, why=why)
        with pytest.raises(StoreError):
            store.block(wrong, now=NOW)
    assert store.blocked(NOW) == {}


def test_nobody_else_reads_the_file(store: AccountStore, path: Path) -> None:
    names = [path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")]
    assert [stat.S_IMODE(name.stat().st_mode) for name in names] == [0o600] * 3


def test_a_damaged_file_is_left_where_it_is_and_a_newer_one_stops_the_start(path: Path) -> None:
    state = path.parent
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    prepare_state(state)
    assert path.read_bytes().endswith(b"\xff")
    with pytest.raises(StoreError, match="imported again"):
        AccountStore(path)
    path.unlink()
    with AccountStore(path) as store:
        store.rows("PRAGMA user_version = 99")
        assert store.rows("PRAGMA application_id") == [(APPLICATION_ID,)]
    with pytest.raises(StoreVersion):
        prepare_state(state)


def test_a_part_of_a_transaction_that_fails_is_undone_alone(store: AccountStore) -> None:
    with store.transaction():
        store.block(block(), now=NOW)
        with pytest.raises(StoreError):
            store.block(
                AccountBlock(
                    account="nobody", state=AccountState.BANNED, until=0.0, why="", by="anna"
                ),
                now=NOW,
            )
        version = store.version()
    assert set(store.blocked(NOW)) == set(JOE.logins)
    assert store.version() == version


def test_a_transaction_that_fails_undoes_its_parts(store: AccountStore) -> None:
    before = store.version()

    def fails() -> None:
        with store.transaction():
            store.block(block(), now=NOW)
            raise KeyError("a fault")

    with pytest.raises(KeyError):
        fails()
    assert store.blocked(NOW) == {}
    assert store.version() == before
    store.block(block(), now=NOW)
