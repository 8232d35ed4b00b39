"""A whole daemon before a service manager's socket: ready when its workers serve, and no sign of
life while none does.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.peers.oborona import Oborona

WATCHDOG_S = 1.0
HUNG_S = 6
PATIENCE_S = 40.0


class Manager:
    """The service manager's end of the socket."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.setblocking(False)
        self.fed_at = 0.0
        self.said: list[str] = []

    def hear(self) -> None:
        with suppress(BlockingIOError):
            while True:
                said = self.socket.recv(4096).decode()
                self.said.append(said)
                if "WATCHDOG=1" in said:
                    self.fed_at = time.monotonic()

    @property
    def hungry(self) -> bool:
        """Whether it would end the service now."""
        return time.monotonic() - self.fed_at > WATCHDOG_S

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        self.hear()
        while not true():
            assert time.monotonic() < deadline, self.said
            time.sleep(0.05)
            self.hear()


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    one = Manager(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", str(int(WATCHDOG_S * 1e6)))
    yield one
    one.socket.close()


def workers(oborona: Oborona) -> list[int]:
    """Pids of the workers that served last."""
    found = dict(
        re.findall(r'msg="process serves" process=(worker-\d+) child=(\d+)', oborona.log())
    )
    return [int(pid) for pid in found.values()]


def test_workers_that_can_not_start_leave_the_watchdog_hungry_and_feed_it_when_they_can(
    manager: Manager,
) -> None:
    with Oborona({"worker.processes": 2}) as oborona:
        manager.until(
            lambda: any(said.startswith("READY=1") for said in manager.said) and not manager.hungry
        )
        secret = oborona.state / "secret"
        secret.rename(oborona.state / "away")
        for pid in workers(oborona):
            os.kill(pid, signal.SIGKILL)
        manager.until(lambda: manager.hungry)
        time.sleep(2 * WATCHDOG_S)
        manager.hear()
        assert manager.hungry, "the supervisor goes on, and says nothing"
        assert re.search(r"STATUS=\d of \d processes serve", manager.said[-1])
        (oborona.state / "away").rename(secret)
        manager.until(lambda: not manager.hungry)


def test_workers_that_hang_are_replaced_before_the_service_manager_has_to(manager: Manager) -> None:
    """What hangs is fed for as long as it may be silent, and its successor after that: hungry it is
    only between them.
    """
    with Oborona(
        {"worker.processes": 2, "worker.hung_s": HUNG_S, "worker.scan_cpu_s": 1}
    ) as oborona:
        manager.until(lambda: not manager.hungry)
        before = workers(oborona)
        for pid in before:
            os.kill(pid, signal.SIGSTOP)
        stopped = time.monotonic()
        manager.until(lambda: manager.fed_at > stopped + WATCHDOG_S)
        assert not set(workers(oborona)) - set(before), "fed, and none of them replaced yet"
        manager.until(lambda: not set(workers(oborona)) & set(before) and not manager.hungry)
