"""What holds of the log of events and of the labels on one machine holds in a site, and the other
machine has the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.feedback.events.log import EventLog
from oborona.feedback.label_store import LabelStore
from tests.feedback import test_label_store
from tests.feedback.events import test_log
from tests.peers.postgresql import Postgresql
from tests.replication.machines import dump, follow_once, site_beside, suite_with

globals().update(suite_with(test_log, "log") | suite_with(test_label_store, "store"))


@pytest.fixture
def log(tmp_path: Path, postgresql: Postgresql) -> Iterator[EventLog]:
    second = site_beside(tmp_path, postgresql.address)
    with EventLog(tmp_path / state_files.EVENTS) as made:
        yield made
    follow_once(second)
    assert dump(tmp_path, state_files.EVENTS) == dump(second, state_files.EVENTS)


@pytest.fixture
def store(tmp_path: Path, postgresql: Postgresql) -> Iterator[LabelStore]:
    second = site_beside(tmp_path, postgresql.address)
    with LabelStore(tmp_path / state_files.FEEDBACK) as made:
        yield made
    follow_once(second)
    assert dump(tmp_path, state_files.FEEDBACK) == dump(second, state_files.FEEDBACK)
