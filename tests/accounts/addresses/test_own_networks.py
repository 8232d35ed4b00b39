"""The networks of site and accounts: looked at once a minute, and kept while they can't be read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from oborona.accounts.account import AccountNetwork, AccountRecord, AccountState, Customer
from oborona.accounts.addresses.own_networks import LOOK_S, NetworkHolder, OwnNetworks
from oborona.accounts.store.accounts import AccountStore
from oborona.reputation.networks import network

SITE = network("9.1.0.0/24")


def test_those_of_accounts_come_within_a_minute_and_stay_while_the_file_is_damaged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now, path = 0.0, tmp_path / "accounts.db"
    networks = OwnNetworks([SITE], path, lambda: now)
    assert networks() == (SITE,)
    joe = AccountRecord(id="joe", logins=("joe",), networks=(AccountNetwork(network="9.2.0.0/28"),))
    with AccountStore(path) as store:
        store.put([joe], by="test", now=1.0)
    assert networks() == (SITE,), "it was looked at a moment ago"
    now += LOOK_S
    assert networks() == (SITE, network("9.2.0.0/28"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(b"no database" * 1000)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            now += LOOK_S
            assert networks() == (SITE, network("9.2.0.0/28"))
    assert len([one for one in caplog.records if "stay as they were" in one.getMessage()]) == 1


def test_whose_an_address_is_and_what_the_account_may_do(tmp_path: Path) -> None:
    now, path = 0.0, tmp_path / "accounts.db"
    networks = OwnNetworks([SITE], path, lambda: now, lambda: 500.0 + now)
    networks()
    assert networks.holder("9.1.0.7") == NetworkHolder()
    joe, ann = (
        AccountRecord(
            id=name,
            logins=(name,),
            customer=customer,
            networks=(AccountNetwork(network=text),),
        )
        for name, customer, text in (
            ("joe", Customer(id="firm"), "9.2.0.0/24"),
            ("ann", None, "9.2.0.8/29"),
        )
    )
    with AccountStore(path) as store:
        store.put([joe, ann], by="test", now=1.0)
        with store.transaction() as db:
            db.execute(
                "UPDATE account SET state = ?, state_until = 600 WHERE id = 'joe'",
                (AccountState.LIMITED,),
            )
    now += LOOK_S
    networks()
    assert networks.holder("9.2.0.1") == NetworkHolder("joe", "firm", "limited")
    assert networks.holder("9.2.0.9") == NetworkHolder("ann", "", "open"), "the narrowest"
    assert networks.holder("9.1.0.7") == networks.holder("2001:db8::1") == NetworkHolder()
    assert networks.holder("no address") == NetworkHolder()
    now += LOOK_S
    networks()
    assert networks.holder("9.2.0.1").state == AccountState.OPEN, "it is over"
