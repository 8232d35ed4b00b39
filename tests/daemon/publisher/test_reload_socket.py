"""Asking the publisher for a reload: what it hears, and callers that say nothing or nonsense."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.daemon.publisher import reload_socket
from oborona.daemon.publisher.reload_socket import (
    ReloadOutcome,
    accept_reload,
    answer_reload,
    ask_reload,
    listen,
)
from oborona.telemetry.status import PolicyRefusal


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(reload_socket, "WORD_S", 0.05)
    with listen(tmp_path) as listening:
        listening.setblocking(True)
        yield listening


def test_an_answer_comes_back_whole(listener: socket.socket, tmp_path: Path) -> None:
    said = ReloadOutcome(
        version="abc",
        refused=PolicyRefusal(problem="p" * 5000, file="f", line=1, column=2, text="t"),
        late=(1,),
    )

    def serve() -> None:
        line = accept_reload(listener)
        assert line is not None
        answer_reload(line, said)

    thread = threading.Thread(target=serve)
    thread.start()
    assert ask_reload(tmp_path, 10) == said
    thread.join()
    assert (tmp_path / state_files.POLICY_SOCKET).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "word", [b"", b"rel", b"nonsense", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100_000]
)
def test_who_says_nothing_or_nonsense_is_hung_up_on(
    listener: socket.socket, tmp_path: Path, word: bytes
) -> None:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(tmp_path / state_files.POLICY_SOCKET))
        caller.setblocking(False)
        caller.send(word)
        assert accept_reload(listener) is None


def test_who_hangs_up_before_the_answer_hurts_nobody(
    listener: socket.socket, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(tmp_path / state_files.POLICY_SOCKET))
        caller.sendall(reload_socket.RELOAD)
        line = accept_reload(listener)
    assert line is not None
    answer_reload(line, ReloadOutcome(version="abc", trouble="x" * 1_000_000))
    assert line.fileno() == -1


def test_where_nobody_listens_or_answers_there_is_no_answer(
    listener: socket.socket, tmp_path: Path
) -> None:
    assert ask_reload(tmp_path / "nowhere", 1) is None
    assert ask_reload(tmp_path, 0.1) is None, "it is connected, and nobody says a word"
