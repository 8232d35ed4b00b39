"""A daemon of somebody else's in a folder of its own: started, stopped, killed, and held as if its
machine hung.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final, Self

READY_S: Final = 30.0  # bounds a hang; each is up within a second
STOP_S: Final = 10.0


class Daemon(ABC):
    """One daemon and its children, which are a process group of their own; for use as a context.

    Args:
        name: of its folder.
    """

    def __init__(self, name: str) -> None:
        self.root = Path(tempfile.mkdtemp(prefix=f"oborona-{name}-", dir="/tmp"))
        self.root.chmod(0o755)
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return its command line; it stays in the foreground."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether it answers; an OSError counts as no."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            RuntimeError: it did not come up; the text is what it said.
        """
        with (self.root / "output").open("ab") as output:
            self.process = subprocess.Popen(
                self.command(),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        end = time.monotonic() + READY_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.command()[0]} did not start:\n{self.log()}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            return self.answers()
        except OSError:
            return False

    def log(self) -> str:
        """Return what it said."""
        return (self.root / "output").read_text(errors="backslashreplace")

    def hold(self) -> None:
        """Stop all its processes where they are: what is sent to it waits."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let them go on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill them all, as the kernel does when memory is short."""
        if self.process is not None:
            self._signal(signal.SIGKILL)
            self.process.wait(timeout=STOP_S)
            self.process = None

    def stop(self) -> None:
        """Kill what still runs and remove the folder."""
        self.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            assert self.process.poll() is not None
