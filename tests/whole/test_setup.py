"""`./setup` says what it does while it works, and everything where it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

SETUP = Path(__file__).parents[2] / "setup"
TOLD = f'set -euo pipefail; eval "$(sed -n "/^say()/p; /^told()/,/^}}/p" {SETUP})"; '


def told(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", TOLD + command], capture_output=True, text=True, timeout=60, check=False
    )


def test_nothing_is_silent_for_long() -> None:
    done = told("told 'a long step' sh -c 'echo unpacking things; sleep 9; echo the end'; echo after")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "setup: a long step"
    assert any("s: unpacking things" in line for line in lines[1:])
    assert "the end" not in done.stderr, "what went well needs no more words"
    assert done.stdout == "after\n"


def test_a_step_that_fails_says_all_that_it_said_and_ends_the_setup() -> None:
    done = told("told 'a bad step' sh -c 'echo one; echo two >&2; exit 7'; echo after")
    assert done.returncode == 7
    assert done.stdout == ""
    assert "one\ntwo\nsetup: a bad step: failed with status 7" in done.stderr


def test_ctrl_c_ends_the_step_with_the_setup(tmp_path: Path) -> None:
    script = TOLD + f"told 'a long step' sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60'"
    process = subprocess.Popen(["bash", "-c", script], start_new_session=True, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 130
    pid = int((tmp_path / "pid").read_text())
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until + 20
        time.sleep(0.05)
