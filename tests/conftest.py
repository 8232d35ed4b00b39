"""What tests of several folders stand on: folders that other users can enter, a DNS of their
own.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from oborona.metrics import REGISTRY
from tests.order import spread
from tests.peers.dns import Zones

# Some hundreds of programs are started here: where the environment says so, each would compile all
# modules anew, for a second of CPU.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A script's `pytest &` begins with SIGINT ignored, and so would each program that a test starts and
# interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# how long an example takes is the machine's affair
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the long tests begin early, on all processes."""
    items[:] = spread(items)


@pytest.fixture(autouse=True)
def metrics_at_zero() -> None:
    """Metrics are a process's; each test has them as a process that has just begun."""
    REGISTRY.begin()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder with a short path that any user can enter, as sockets need it."""
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def zones() -> Iterator[Zones]:
    """A DNS server without records: `zones.add({...})`."""
    with Zones() as server:
        yield server
