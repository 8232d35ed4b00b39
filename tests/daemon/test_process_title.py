"""What `ps` calls the processes of the daemon."""

from __future__ import annotations

import subprocess
import sys

from tests.peers.oborona import Oborona


def test_ps_tells_the_processes_apart() -> None:
    with Oborona({"worker.processes": 2}) as daemon:
        assert daemon.process is not None
        command = ["ps", "--ppid", str(daemon.process.pid), "-o", "args=", "--width", "200"]
        told = {
            line.strip()
            for line in subprocess.run(
                command, capture_output=True, text=True, check=True
            ).stdout.splitlines()
        }
        names = (
            "writer",
            "reader",
            "policy",
            "worker 0",
            "worker 1",
            "trainer",
            "final trainer",
            "keeper",
        )
        assert told == {f"oborona: {name}" for name in names}
        parent = subprocess.run(
            ["ps", "-o", "args=", "--width", "2000", str(daemon.process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert parent.stdout.strip().endswith("serve"), "the parent keeps the command line"


def test_a_title_is_cut_where_the_command_line_ends() -> None:
    program = (
        "from oborona.daemon.process_title import set_process_title; set_process_title('x' * 5000); "
        "print(open('/proc/self/cmdline', 'rb').read().decode())"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert set(told.strip().rstrip("\0")) == {"x"}
