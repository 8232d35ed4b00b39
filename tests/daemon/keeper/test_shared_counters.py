"""Several tasks of one process read the counters, which LMDB opens once in a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import Settings
from oborona.daemon.keeper.shared_counters import SharedCounters
from oborona.errors import StoreError

MAKE = """
import sys
from pathlib import Path
from oborona.counters.writer import LmdbCounterWriter
LmdbCounterWriter(Path(sys.argv[1]), doorkeeper_bytes=0).close()
"""


def test_it_is_open_while_anybody_uses_it(tmp_path: Path) -> None:
    shared = SharedCounters(Settings(), tmp_path)
    with pytest.raises(StoreError):
        shared.acquire()
    subprocess.run([sys.executable, "-c", MAKE, tmp_path / state_files.COUNTERS], check=True)
    first = shared.acquire()
    with shared.using() as second:
        assert second is first
    assert shared.acquire() is first
    shared.release()
    shared.release()
    with shared.using() as third:
        assert third is not first, "who was last has closed it"
    with pytest.raises(ZeroDivisionError), shared.using():
        raise ZeroDivisionError
    assert shared.acquire() is not third
    shared.release()
