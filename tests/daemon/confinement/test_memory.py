"""Processes of one user look into each other's memory, unless it was kept private."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
VICTIM_AND_THIEF = """\
import os, sys, time
from oborona.daemon.confinement.memory import keep_memory_private
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
began, begin = os.pipe()
victim = os.fork()
if victim == 0:
    __import__("ctypes").CDLL(None).prctl(4, 1, 0, 0, 0)
    if sys.argv[1] == "private":
        keep_memory_private()
    if (grandchild := os.fork()) == 0:
        os.write(begin, os.getpid().to_bytes(4, "big"))
        time.sleep(60)
        os._exit(0)
    os.waitpid(grandchild, 0)
    os._exit(0)
forked = int.from_bytes(os.read(began, 4), "big")
thief = os.fork()
if thief == 0:
    __import__("ctypes").CDLL(None).prctl(4, 1, 0, 0, 0)
    for pid in (victim, forked):
        for file in ("mem", "environ", "maps"):
            try:
                os.close(os.open(f"/proc/{pid}/{file}", os.O_RDWR if file == "mem" else os.O_RDONLY))
            except PermissionError:
                print("no")
            else:
                print("yes")
    sys.stdout.flush()
    os._exit(0)
os.waitpid(thief, 0)
os.kill(forked, 9)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two processes of another user")
def test_nobody_of_the_same_user_opens_it() -> None:
    def told(how: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", VICTIM_AND_THIEF, how],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert len(done.stdout.split()) == 6
        return set(done.stdout.split())

    assert told("private") == {"no"}
    yama = Path("/proc/sys/kernel/yama/ptrace_scope")
    if not yama.exists() or yama.read_text().strip() == "0":
        assert told("open") == {"yes"}
