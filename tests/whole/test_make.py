"""`make run`, as README tells it: a daemon that a Postfix beside it can ask, and settings for every
other command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.letters import gtube
from tests.peers.oborona import PROGRAM, READY_S, STOP_S
from tests.peers.ports import free_port
from tests.peers.postfix import Postfix, debian

ROOT = Path(__file__).parents[2]
LETTER = (
    b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nMessage-ID: "
    b"<1@a.example>\r\n\r\nAt noon?\r\n"
)


@pytest.fixture
def running(open_folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """`make run` in a folder of its own, ready; and the file with what it says."""
    said = open_folder / "said"
    quiet = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "OBORONA_"))
    }
    with said.open("wb") as output:
        process = subprocess.Popen(
            ["make", "run", f"VAR={open_folder}/var", f"LISTEN=inet:127.0.0.1:{free_port()}", "PYTHON=python3"],
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


@pytest.mark.parametrize("chroot", [True, False], ids=["chroot", "no-chroot"])
def test_make_run_and_make_attach_serve_a_stock_postfix(
    running: tuple[subprocess.Popen[bytes], Path], open_folder: Path, chroot: bool
) -> None:
    process, said = running
    banner = said.read_text()
    assert "installing" not in banner, "what the development lock installed is enough"
    assert "level=warning" not in banner
    assert "level=info" in _line(banner, "runs as root"), "whose Postfix is ours is root"
    assert "/bin/sh" not in banner, "the settings are written without the shell's help"

    with Postfix(master=debian(chroot=chroot)) as postfix:
        attach = [
            "make",
            "attach",
            f"VAR={open_folder}/var",
            f"ATTACH=--yes --postfix {postfix.folder}/etc",
        ]
        made = subprocess.run(
            attach, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        assert made.returncode == 0, made.stderr
        time.sleep(1)
        postfix.connect().quit()  # an smtpd that was idle may serve one session more
        assert postfix.send(LETTER)[-1].startswith("250")
        assert postfix.send(gtube().wire)[-1].startswith("550 5.7.1 ")
        settings = {"OBORONA_CONFIG": f"{open_folder}/var/oborona.toml", "COLUMNS": "300"}
        until = time.monotonic() + READY_S
        while True:  # the journal is written in batches
            told = subprocess.run(
                [PROGRAM, "doctor", "--postfix", f"{postfix.folder}/etc"], env=os.environ | settings, capture_output=True, text=True, timeout=60, check=False
            )  # fmt: skip
            assert told.returncode == 0, told.stdout + told.stderr
            if f"{open_folder}/var/state/journal.db can be read: 2 verdicts" in told.stdout:
                break
            assert time.monotonic() < until, told.stdout
    assert "WARN" in _line(told.stdout, "the daemon runs as root"), "it has real mail now"
    assert (
        said.read_text().partition("\nNext:\n")[2].splitlines()[0].endswith("oborona.toml attach")
    ), banner
    after = said.read_text().partition("the first who may sign in")[2].splitlines()[1:]
    assert all(
        "msg=verdict" in line or "oborona.probe" in line or "probe, not counted" in line
        for line in after
    ), after

    os.killpg(process.pid, signal.SIGTERM)
    process.wait(STOP_S)
    until = time.monotonic() + STOP_S
    while _alive(process.pid):
        assert time.monotonic() < until, said.read_text()
        time.sleep(0.02)
    assert "killed" not in said.read_text()


def _line(said: str, words: str) -> str:
    (line,) = (line for line in said.splitlines() if words in line)
    return line


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
