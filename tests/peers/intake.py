"""The process that hears what people say, as an admin starts it: `oborona intake` with a state of
its own.

with Intake({"intake.listen": f"unix:{path}"}) as intake:
    intake.events() is what it has written down
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

from oborona import secret, state_files
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import StoredEvent
from oborona.ident import sign
from tests.peers.oborona import PROGRAM, READY_S, SETTINGS, STOP_S

DOMAIN: Final = "example.test"  # of persons
WAIT_S: Final = 60.0  # for what takes milliseconds on a machine with time to spare


class Intake:
    """The process in a folder of its own.

    Args:
        settings: by SECTION.KEY, over the shipped ones.
    """

    def __init__(self, settings: Mapping[str, object]) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="intake-", dir="/tmp"))
        self.root.chmod(0o755)
        self.state = self.root / "state"
        self.state.mkdir(mode=0o750)
        self._key = secret.make(self.state).signature
        self._settings = {
            "intake.person": f"{{user}}@{DOMAIN}",
            "intake.socket_mode": "0666",
            **settings,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def command(self) -> list[str]:
        """Return the command line that starts it."""
        words = [
            word for name, value in self._settings.items() for word in ("--set", f"{name}={value}")
        ]
        return [
            str(PROGRAM),
            "--config",
            str(SETTINGS),
            "--state",
            str(self.state),
            *words,
            "intake",
        ]

    def start(self) -> None:
        """Start it, and wait until it serves.

        Raises:
            RuntimeError: it did not come up; the text is what it said.
        """
        with (self.root / "output").open("ab") as output:
            before = output.tell()
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + READY_S
        while "process serves" not in self.log()[before:]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the intake did not start:\n{self.log()}")
            time.sleep(0.02)

    def halt(self) -> int:
        """Stop it as an admin would, and leave its folder; return its exit status."""
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(timeout=STOP_S)
        self.process = None
        return status

    def stop(self) -> None:
        """Stop it, by force if it does not, and remove its folder."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()  # its child ends with it
                self.process.wait()
            self.process = None
        shutil.rmtree(self.root, ignore_errors=True)

    def sign(self, ident: int) -> str:
        """Return the X-Mras-Id of a message."""
        return sign(ident, self._key)

    def events(self) -> list[StoredEvent]:
        """Return what is written down, in order."""
        if not (self.state / state_files.EVENTS).exists():
            return []
        log = EventLog(self.state / state_files.EVENTS)
        try:
            return log.last(10_000)[::-1]
        finally:
            log.close()

    def raw(self, ident: int) -> bytes:
        """Return the message of an event."""
        log = EventLog(self.state / state_files.EVENTS)
        try:
            return log.raw(ident)
        finally:
            log.close()

    def until(self, holds: Callable[[list[StoredEvent]], bool]) -> list[StoredEvent]:
        """Return what is written down, once something holds of it.

        Raises:
            AssertionError: it never does.
        """
        deadline = time.monotonic() + WAIT_S
        while not holds(found := self.events()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{found}\n{self.log()}")
            time.sleep(0.05)
        return found

    def log(self) -> str:
        """Return everything that it said."""
        output = self.root / "output"
        return output.read_text(errors="backslashreplace") if output.exists() else ""
