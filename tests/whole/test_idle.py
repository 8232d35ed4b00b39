"""A daemon with nothing to do sleeps: how often its processes are woken, as the kernel counts."""

from __future__ import annotations

import re
import time
from pathlib import Path

from tests.peers.oborona import Oborona

SETTLE_S = 6.0  # stores are made, lists are probed
WATCHED_S = 8.0
# each look that goes through a thread is four switches; the keeper makes some in a few seconds
MOST_A_SECOND = 25.0  # of one process; 64 of a worker that polls five stores
MOST_IN_ALL = 80.0  # 210 with polls
_SWITCHES = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)", re.MULTILINE)
_SERVES = re.compile(r'msg="process serves" process=([\w-]+) child=(\d+)')


def test_an_idle_daemon_is_woken_seldom() -> None:
    with Oborona({"worker.processes": 2}) as oborona:
        time.sleep(SETTLE_S)
        processes = {name: int(pid) for name, pid in _SERVES.findall(oborona.log())}
        assert {"worker-0", "worker-1", "keeper", "writer", "trainer", "policy"} <= set(processes)
        before, began = switches(processes), time.monotonic()
        time.sleep(WATCHED_S)
        after, passed_s = switches(processes), time.monotonic() - began
    often = {name: (after[name] - before[name]) / passed_s for name in processes}
    assert max(often.values()) < MOST_A_SECOND, often
    assert sum(often.values()) < MOST_IN_ALL, often


def switches(processes: dict[str, int]) -> dict[str, int]:
    """Return how often each process has slept, all of its threads."""
    return {
        name: sum(
            int(found[1])
            for thread in Path(f"/proc/{pid}/task").iterdir()
            if (found := _SWITCHES.search((thread / "status").read_text()))
        )
        for name, pid in processes.items()
    }
