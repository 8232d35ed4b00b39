"""What the service manager is told, over real sockets."""

import logging
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.daemon.sd_notify import READY, notify, reloading, watchdog_interval_s


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    address = (
        str(tmp_path / "notify") if request.param == "path" else f"@oborona-test-{os.getpid()}"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + address[1:] if address.startswith("@") else address)
        listening.settimeout(5)
        yield listening, address


def test_states_arrive_in_one_datagram(manager: tuple[socket.socket, str]) -> None:
    listening, address = manager
    notify(READY, "STATUS=1 of 1 processes serve", environ={"NOTIFY_SOCKET": address})
    assert listening.recv(4096) == b"READY=1\nSTATUS=1 of 1 processes serve"


def test_without_a_manager_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    notify(READY, environ={})
    notify(READY, environ={"NOTIFY_SOCKET": ""})
    assert not caplog.records


@pytest.mark.parametrize(
    "address", ["/nonexistent/notify", "vsock:2:1234", "/with\0nul", "/" + "x" * 200, "@"]
)
def test_a_manager_that_cannot_be_reached_is_logged_not_raised(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        notify(READY, environ={"NOTIFY_SOCKET": address})
    assert [record.getMessage() for record in caplog.records] == ["service manager not reached"]


def test_a_manager_that_does_not_read_holds_us_up_only_so_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
        deaf.bind(str(tmp_path / "notify"))
        began = time.monotonic()
        while not caplog.records:
            notify("STATUS=" + "x" * 60_000, environ={"NOTIFY_SOCKET": str(tmp_path / "notify")})
            assert time.monotonic() - began < 30


def test_a_reload_carries_the_monotonic_time() -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    state, stamp = reloading()
    assert state == "RELOADING=1"
    assert (
        before
        <= int(stamp.removeprefix("MONOTONIC_USEC="))
        <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    )


@pytest.mark.parametrize(
    ("environ", "interval"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "77"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "1", "WATCHDOG_PID": ""}, None),
    ],
)
def test_the_watchdog_is_fed_twice_as_often_as_asked(
    environ: dict[str, str], interval: float | None
) -> None:
    assert watchdog_interval_s(environ, pid=77) == interval
