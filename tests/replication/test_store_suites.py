"""What holds of the log of events and of the labels on one machine holds in a site, and the other
machine has the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from oborona import secret, state_files
from oborona.daemon.site.follower import ReplicaFollower
from oborona.daemon.site.membership import begin_site, join_site
from oborona.daemon.site.watch import COMMON_KINDS
from oborona.feedback.events.log import EventLog
from oborona.feedback.label_store import LabelStore
from oborona.replication.link import read_link
from oborona.replication.log import ReplicationLog
from tests.feedback import test_label_store
from tests.feedback.events import test_log
from tests.peers.postgresql import Postgresql
from tests.replication.machines import SECRET, dump, new_state


def _of(suite: ModuleType, fixture: str) -> dict[str, Callable[..., object]]:
    return {
        name: test
        for name, test in vars(suite).items()
        if name.startswith("test_") and fixture in inspect.signature(test).parameters
    }


globals().update(_of(test_log, "log") | _of(test_label_store, "store"))


@pytest.fixture
def log(tmp_path: Path, postgresql: Postgresql) -> Iterator[EventLog]:
    second = _site(tmp_path, postgresql.address)
    with EventLog(tmp_path / state_files.EVENTS) as made:
        yield made
    _follow(second)
    assert dump(tmp_path, state_files.EVENTS) == dump(second, state_files.EVENTS)


@pytest.fixture
def store(tmp_path: Path, postgresql: Postgresql) -> Iterator[LabelStore]:
    second = _site(tmp_path, postgresql.address)
    with LabelStore(tmp_path / state_files.FEEDBACK) as made:
        yield made
    _follow(second)
    assert dump(tmp_path, state_files.FEEDBACK) == dump(second, state_files.FEEDBACK)


def _site(first: Path, address: str) -> Path:
    (first / state_files.SECRET).write_bytes(SECRET)
    secret.make(first)
    second = new_state(first / "second")
    begin_site(first, address, "mx1", "1")
    join_site(second, address, "mx2", "1")
    return second


def _follow(state: Path) -> None:
    link = read_link(state)
    assert link is not None
    follower = ReplicaFollower(state, link, COMMON_KINDS, "1")
    log = ReplicationLog(link.address, link.machine)
    follower.look(log)
    log.close()
    assert not any(one.trouble.now for one in follower.stores.values())
