"""Sockets that the service manager keeps over a restart: sent to it, taken again, and nothing else
taken for one.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.config.address import InetAddress, UnixAddress
from oborona.daemon import sockets
from oborona.daemon.held_sockets import HeldSockets, keep

_NEXT = """\
import socket, sys
from oborona.config.address import InetAddress
from oborona.daemon.held_sockets import HeldSockets
port, = map(int, sys.argv[1:])
import os
os.environ["LISTEN_PID"] = str(os.getpid())
with HeldSockets() as held:
    assert "LISTEN_FDS" not in os.environ
    assert held.take(InetAddress("127.0.0.1", port + 1)) is None
    sock = held.take(InetAddress("127.0.0.1", port))
    assert sock is not None and not sock.get_inheritable()
sock.setblocking(True)
peer, _ = sock.accept()
peer.sendall(b"next")
"""


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listening


def test_who_connects_between_two_processes_is_served_by_the_next(manager: socket.socket) -> None:
    first = sockets.listen(InetAddress("127.0.0.1", 0))
    port = first.getsockname()[1]
    keep(first, InetAddress("127.0.0.1", port))
    said, (kept,), _, _ = socket.recv_fds(manager, 4096, 4)
    name = f"oborona 127.0.0.1 {port}"
    assert said.decode().splitlines() == ["FDSTORE=1", f"FDNAME={name}"]
    sockets.close_and_unlink(first)
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        client.settimeout(30)
        script = f'exec 3<&{kept}; exec {sys.executable} -c "$0" {port}'
        done = subprocess.Popen(
            ["/bin/bash", "-c", script, _NEXT],
            pass_fds=(kept,),
            env={**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": name},
        )
        assert client.recv(4) == b"next"
        assert done.wait(30) == 0
    os.close(kept)


def test_what_nobody_takes_is_let_go(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    sock = sockets.listen(InetAddress("127.0.0.1", 0))
    monkeypatch.setattr("oborona.daemon.held_sockets.FIRST", sock.detach())
    with HeldSockets({"LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "oborona ..1 25"}, 7):
        pass
    assert manager.recv(4096).decode().splitlines() == ["FDSTOREREMOVE=1", "FDNAME=oborona ..1 25"]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LISTEN_PID": "8", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "oborona a 1"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "65", "LISTEN_FDNAMES": "oborona a 1"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "-1", "LISTEN_FDNAMES": "oborona a 1"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "x", "LISTEN_FDNAMES": "oborona a 1"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "another's"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "1"},
    ],
)
def test_nothing_is_taken_that_is_not_ours(environ: dict[str, str]) -> None:
    with HeldSockets(environ, 7) as held:
        assert held.take(InetAddress("a", 1)) is None
    assert environ == {}


def test_a_descriptor_that_is_no_socket_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    monkeypatch.setattr("oborona.daemon.held_sockets.FIRST", read)
    environ = {"LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "oborona a 1"}
    with HeldSockets(environ, 7) as held:
        assert held.take(InetAddress("a", 1)) is None
    os.close(read)
    os.close(write)


def test_socket_files_are_not_kept(manager: socket.socket, tmp_path: Path) -> None:
    address = UnixAddress(str(tmp_path / "door.sock"))
    sock = sockets.listen(address)
    keep(sock, address)
    manager.settimeout(0.1)
    with pytest.raises(TimeoutError):
        manager.recv(4096)
    with HeldSockets({}) as held:
        assert held.take(address) is None
    sockets.close_and_unlink(sock)
