"""The console as a process."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

PROGRAM = """
import socket, sys
from pathlib import Path
from oborona.config import Settings
from oborona.console import service
from oborona.console.lasting_parts import lasting_parts
service.REST_S = float(sys.argv[2])
with socket.create_server(("127.0.0.1", 0)) as listening:
    port = listening.getsockname()[1]
    ready = lambda: print(port, flush=True)
    desk = Path(sys.argv[1])
    sys.exit(service.serve_console(Settings(), lasting_parts(), listening, desk, ready))
"""


def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path / "desk.sock", "600"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=20) as answer:
            assert b'name="password"' in answer.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_it_ends_when_nobody_looks(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path / "desk.sock", "0.5"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline())
        assert process.wait(20) == 0
