"""What tests of several folders stand on: folders that other users can enter, a DNS of their own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.peers.dns import Zones

settings.register_profile("house", deadline=None)  # how long an example takes is the machine's affair
settings.load_profile("house")


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
