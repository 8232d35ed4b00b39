"""Our own daemon as a process, as an admin starts it: `oborona serve` with the shipped settings and
a state of its own.

It lives in a folder in /tmp that mail servers can reach, and is gone afterwards.  Where a test
gives it no resolver, it asks one that knows no name.  Its scores are those of its rules, unless a
test asks for the model that comes with Oborona: it is made anew more often than rules are.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from tests.peers.dns import Zones
from tests.policy.models.final.made import leave_to_rules

PROGRAM: Final = Path(sys.executable).with_name("oborona")
SETTINGS: Final = Path(__file__).parents[2] / "etc" / "oborona.toml"
READY_S: Final = 30.0  # it takes below a second; much more on a busy machine
STOP_S: Final = 30.0  # above what it waits for sessions in flight


class Oborona:
    """A daemon in a folder of its own.

    Args:
        settings: by SECTION.KEY, over the shipped ones.
        config: settings file.
        state: state folder; by default in the daemon's own folder.
        shipped_model: whether the model that comes with Oborona adds to the rules.
    """

    def __init__(
        self,
        settings: Mapping[str, object] = {},
        *,
        config: Path = SETTINGS,
        state: Path | None = None,
        shipped_model: bool = False,
    ) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="oborona-", dir="/tmp"))
        self.root.chmod(0o755)
        self.state = state or self.root / "state"
        self.milter = f"unix:{self.root}/milter.sock"
        self._settings = {
            "doors.milter.listen": self.milter,
            "doors.milter.socket_mode": "0666",
        } | dict(settings)
        self._config = config
        self._dns: Zones | None = None
        if "paths.policy" in self._settings:  # these rules, and no others
            self._settings.setdefault("paths.shipped_policy", "none")
        if "dns.servers" not in self._settings:
            self._dns = Zones()
            self._dns.start()
            self._settings["dns.servers"] = self._dns.setting
        if not shipped_model:
            leave_to_rules(self.state)
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

    def setting(self, name: str) -> object:
        """Return a setting that was given to it."""
        return self._settings[name]

    def set(self, settings: Mapping[str, object]) -> None:
        """Give it further settings, before it is started."""
        self._settings |= settings

    def command(self, *words: str) -> list[str]:
        """Return the command line of a command on this daemon's settings and state."""
        assignments = [
            word for name, value in self._settings.items() for word in ("--set", f"{name}={value}")
        ]
        return [
            str(PROGRAM),
            "--config",
            str(self._config),
            "--state",
            str(self.state),
            *assignments,
            *words,
        ]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command beside the daemon, and return what it said."""
        return subprocess.run(
            self.command(*words), capture_output=True, text=True, timeout=60, check=False
        )

    def start(self) -> None:
        """Start it, and wait until it says that it is ready.

        Raises:
            RuntimeError: it did not come up; the text is what it said.
        """
        with (self.root / "output").open("ab") as output:
            before = output.tell()
            self.process = subprocess.Popen(
                self.command("serve"),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for us, who stop it
            )
        deadline = time.monotonic() + READY_S
        while "ready on" not in self.log()[before:]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"oborona did not start:\n{self.log()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it as an admin would, by force if it does not, and remove its folder."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()  # its children end with it
                self.process.wait()
            self.process = None
        if self._dns is not None:
            self._dns.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def halt(self) -> None:
        """Stop it as an admin would, and leave its folder, so that it can be started again."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=STOP_S)
            self.process = None

    def of_workers(self, events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return those lines of a JSON log that workers wrote: the keeper follows most of what they
        follow, too.
        """
        lines = [line for line in self.log().splitlines() if '"process started"' in line]
        started = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("}")
        ]
        workers = {one["child"] for one in started if str(one["process"]).startswith("worker")}
        return [one for one in events if one["pid"] in workers]

    def log(self) -> str:
        """Return everything that it said."""
        output = self.root / "output"
        return output.read_text(errors="backslashreplace") if output.exists() else ""
