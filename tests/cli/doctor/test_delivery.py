"""`oborona doctor` on the delivery door: both of its ends."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oborona.cli.context import CliContext
from oborona.desk.doctor.delivery import delivery
from oborona.desk.doctor.report import CheckState


def looked(folder: Path, **settings: object) -> dict[str, tuple[CheckState, str]]:
    sets = {
        "doors.delivery.listen": f"unix:{folder}/lmtp.sock",
        "doors.delivery.next_hop": f"unix:{folder}/hop",
    } | {name.replace("__", "."): value for name, value in settings.items()}
    asked = CliContext(
        None, folder / "state", tuple(f"{name}={value}" for name, value in sets.items())
    )
    return {one.what: (one.state, one.words) for one in delivery(asked)}


@contextmanager
def hop(path: Path, *says: bytes) -> Iterator[None]:
    """Somebody at a socket who says one thing after the other."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(30)

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(30)
                for words in says:
                    peer.sendall(words)
                    peer.recv(1000)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(30)
    path.unlink()


@pytest.fixture
def postconf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Postfix whose settings are in a file."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/postconf"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/main.cf\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "main.cf").write_text("")
    return tmp_path / "main.cf"


def test_a_door_that_is_closed_is_not_looked_at(tmp_path: Path) -> None:
    assert looked(tmp_path, doors__delivery__listen="") == {}


def test_a_next_hop_that_answers(tmp_path: Path, postconf: Path) -> None:
    with hop(tmp_path / "hop", b"220 hop\r\n", b"250-hop\r\n250 PIPELINING\r\n"):
        assert looked(tmp_path)["next hop"] == (
            CheckState.OK,
            f"an LMTP server answers on unix:{tmp_path}/hop",
        )


@pytest.mark.parametrize(
    ("says", "word"),
    [(b"HTTP/1.1 400\r\n", "is no LMTP server"), (b"421 4.3.2 busy\r\n", "421 4.3.2 busy")],
)
def test_a_next_hop_that_is_something_else(
    tmp_path: Path, postconf: Path, says: bytes, word: str
) -> None:
    with hop(tmp_path / "hop", says):
        state, words = looked(tmp_path)["next hop"]
        assert state is CheckState.FAIL
        assert word in words


def test_a_next_hop_that_is_away(tmp_path: Path, postconf: Path) -> None:
    state, words = looked(tmp_path)["next hop"]
    assert state is CheckState.FAIL
    assert words.endswith("mail waits in the queue")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("virtual_transport = lmtp:unix:{folder}/lmtp.sock", "Postfix delivers to us: virtual_transport"),
        # from its own root
        ("mailbox_transport = lmtp:unix:lmtp.sock", "Postfix delivers to us: mailbox_transport"),
        ("virtual_transport = lmtp:unix:private/dovecot-lmtp", "Postfix does not deliver to us; put into main.cf: virtual_transport = lmtp:unix:"),
        ("virtual_transport = virtual", "Postfix does not deliver to us"),
        ("virtual_transport = smtp:unix:{folder}/lmtp.sock", "Postfix does not deliver to us"),
    ],
)  # fmt: skip
def test_whether_postfix_delivers_to_us(
    tmp_path: Path, postconf: Path, line: str, found: str
) -> None:
    postconf.write_text(line.format(folder=tmp_path) + "\n")
    assert looked(tmp_path)["delivery"][1].startswith(found)


def test_a_door_by_tcp(tmp_path: Path, postconf: Path) -> None:
    postconf.write_text("virtual_transport = lmtp:inet:127.0.0.1:2424\n")
    assert (
        looked(tmp_path, doors__delivery__listen="inet:2424@127.0.0.1")["delivery"][0]
        is CheckState.OK
    )


def test_a_wait_that_is_shorter_than_a_batch_is_told(tmp_path: Path, postconf: Path) -> None:
    found = looked(tmp_path, doors__delivery__journal_wait_s=0.1, journal__batch_s=0.25)
    assert found["next hop"][0] is CheckState.WARN
