"""The networks of site and accounts: looked at once a minute, and kept while they can't be read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from oborona.accounts.account import AccountNetwork, AccountRecord
from oborona.accounts.addresses.own_networks import LOOK_S, OwnNetworks
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
