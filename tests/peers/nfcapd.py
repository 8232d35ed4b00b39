"""nfcapd and softflowd, the real ones: captures become flows, flows become files."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

START_S = 10.0
EXPORT_S = 30.0


class Nfcapd:
    """A collector on loopback; a context manager. When it is left, its last file is rotated.

    Args:
        folder: for its files; it must be there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            ["nfcapd", "-w", self.folder, "-b", "127.0.0.1", "-p", str(self.port), "-t", "60"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + START_S
        while f"{self.port:04X}" not in Path("/proc/net/udp").read_text():
            assert time.monotonic() < until, "nfcapd does not listen"
            assert self._process.poll() is None, "nfcapd ended"
            time.sleep(0.02)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        time.sleep(0.3)  # what lies in its socket
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(20)

    def export(self, capture: Path, *options: str) -> None:
        """Have softflowd send the flows of a capture."""
        control = capture.with_suffix(".pid")
        subprocess.run(
            [
                "softflowd",
                "-d",
                "-r",
                capture,
                "-n",
                f"127.0.0.1:{self.port}",
                "-p",
                control,
                "-c",
                "none",
                *options,
            ],
            check=True,
            capture_output=True,
            timeout=EXPORT_S,
            cwd=os.fspath(capture.parent),
        )

    def files(self) -> list[Path]:
        """Return the files that were rotated."""
        return sorted(path for path in self.folder.glob("nfcapd.*") if "current" not in path.name)
