"""What holds of the file of accounts and of the inspector on one machine holds in a site, and the
other machine has the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.accounts.store.accounts import AccountStore
from tests.accounts.inspector import test_inspector
from tests.accounts.store import test_account_store
from tests.accounts.store.test_account_store import ANN, JOE, NOW
from tests.peers.postgresql import Postgresql
from tests.replication.machines import dump, follow_once, site_beside, suite_with

_DAMAGED = "test_a_damaged_file_is_left_where_it_is_and_a_newer_one_stops_the_start"

globals().update(
    suite_with(test_account_store, "store")
    | suite_with(test_account_store, "path")
    | suite_with(test_inspector, "path")
    | suite_with(test_inspector, "site")
)
del globals()[_DAMAGED]  # of one file alone

site = test_inspector.site


@pytest.fixture
def path(tmp_path: Path, postgresql: Postgresql) -> Iterator[Path]:
    second = site_beside(tmp_path, postgresql.address)
    yield tmp_path / state_files.ACCOUNTS
    follow_once(second)
    assert dump(tmp_path, state_files.ACCOUNTS) == dump(second, state_files.ACCOUNTS)


@pytest.fixture
def store(path: Path) -> Iterator[AccountStore]:
    with AccountStore(path) as opened:
        opened.put([JOE, ANN], by="anna", now=NOW)
        yield opened
