"""`make run`, as README tells it: a daemon that a Postfix beside it can ask, and settings for every other command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.letters import gtube
from tests.peers.oborona import PROGRAM, READY_S, STOP_S
from tests.peers.postfix import Postfix

ROOT = Path(__file__).parents[2]
LETTER = b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nMessage-ID: <1@a.example>\r\n\r\nAt noon?\r\n"


@pytest.fixture
def running(open_folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """`make run` in a folder of its own, ready; and the file with what it says."""
    said = open_folder / "said"
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "OBORONA_"))}
    with said.open("wb") as output:
        process = subprocess.Popen(
            ["make", "run", f"VAR={open_folder}/var", "PYTHON=python3"],
            cwd=ROOT, env=quiet, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        until = time.monotonic() + READY_S
        while "ready on" not in said.read_text():
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < until, said.read_text()
            time.sleep(0.02)
        yield process, said
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_S)


def test_make_run_serves_a_postfix_and_every_command_finds_its_settings(
    running: tuple[subprocess.Popen[bytes], Path], open_folder: Path
) -> None:
    process, said = running
    found = re.search(r"ready on (unix:\S+)", said.read_text())
    assert found
    assert "installing" not in said.read_text(), "what the development lock installed is enough"
    assert "warning" not in said.read_text(), "every folder on the way is open"

    with Postfix(found[1]) as postfix:
        assert postfix.send(LETTER)[-1].startswith("250")
        assert postfix.send(gtube().wire)[-1].startswith("550 5.7.1 ")

    settings = {"OBORONA_CONFIG": f"{open_folder}/var/oborona.toml", "COLUMNS": "300"}
    until = time.monotonic() + READY_S
    while True:  # the journal is written in batches
        told = subprocess.run(
            [PROGRAM, "doctor"], env=os.environ | settings, capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip
        assert told.returncode == 0, told.stdout + told.stderr
        if f"{open_folder}/var/state/journal.db can be read: 2 verdicts" in told.stdout:
            break
        assert time.monotonic() < until, told.stdout

    os.killpg(process.pid, signal.SIGTERM)
    process.wait(STOP_S)
    until = time.monotonic() + STOP_S
    while _alive(process.pid):
        assert time.monotonic() < until, said.read_text()
        time.sleep(0.02)
    assert "killed" not in said.read_text()
    assert not (open_folder / "var/run/milter.sock").exists()


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
