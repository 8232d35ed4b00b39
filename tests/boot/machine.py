"""A machine of its own: a copy of the bare Debian, booted by systemd-nspawn with systemd as its
process 1 and no network but loopback.

    with Machine() as machine:
        machine.run("apt-get install -y postfix")
        machine.reboot()

Commands run within its name spaces, as a shell of root would there; processes, files and addresses
of this machine stay out of reach of what they do. It ends with its context, and with the process
that started it.

Source: systemd-nspawn(1), nsenter(1).
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.boot.cgroup import ControlGroup
from tests.boot.image import MIRROR, ROOT, base_image, told

CLONE: Final = "/root/oborona"  # a clone of the repository, as the documents want it
BOOT_S: Final = 120.0
STOP_S: Final = 90.0  # a unit may take 45 s over its stop
COMMAND_S: Final = 1200.0  # an installation, on a machine that is busy with other tests
_ENVIRONMENT: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "DEBIAN_FRONTEND": "noninteractive",  # nobody is there to be asked
}


class CommandError(AssertionError):
    """A command ended with another status than was expected; its text has what it said."""


class Machine:
    """A booted machine; a context manager. Needs root."""

    def __init__(self, root: Path | None = None) -> None:
        """Choose what it is a copy of.

        Args:
            root: folder that another machine left (`leave`); by default the bare Debian.
        """
        self._image = base_image()
        self._source = root or self._image / "root"
        self._layered = root is not None
        self._name = f"oborona-boot-{secrets.token_hex(4)}"  # must be a host name, and end as one
        self.folder = Path("/var/tmp", self._name)
        self.folder.mkdir(mode=0o700)
        self.root = self.folder / "root"
        self._group = ControlGroup(self._name)
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def __enter__(self) -> Self:
        """Lay its disk, put a clone of the tree there, boot it; its units are up when this
        returns.
        """
        try:
            self._group.__enter__()
            self._lay_disk()
            self.put_clone()
            self.boot()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Switch it off and remove it."""
        if self._nspawn is not None:
            self._kill()
        self._group.__exit__()
        if os.path.ismount(self.root):
            told(["umount", self.root])
        shutil.rmtree(self.folder, ignore_errors=True)

    def _lay_disk(self) -> None:
        """Begin with what another one left, by a layer above it; else, or where the kernel lays
        none there, with a copy.
        """
        if self._layered:
            upper, work = self.folder / "upper", self.folder / "work"
            for folder in (upper, work, self.root):
                folder.mkdir()
            # as on a disk of one layer, a folder can be renamed
            layers = f"lowerdir={self._source},upperdir={upper},workdir={work},redirect_dir=on"
            command = ["mount", "-t", "overlay", "overlay", "-o", layers, os.fspath(self.root)]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return
            self.root.rmdir()
        told(["cp", "-a", "--reflink=auto", self._source, self.root])

    def put_clone(self) -> None:
        """Copy the tree's own files, tracked or new, in place of the clone that is there."""
        clone = self.root / CLONE[1:]
        shutil.rmtree(clone, ignore_errors=True)
        clone.mkdir(parents=True)
        listed = told(
            ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        )
        there = "\0".join(
            name for name in listed.split("\0") if name and os.path.lexists(ROOT / name)
        )
        pack = subprocess.Popen(
            ["tar", "-C", ROOT, "--null", "--no-recursion", "-T-", "-c"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert pack.stdin is not None
        with (
            pack,
            subprocess.Popen(
                ["tar", "-C", clone, "--no-same-owner", "-x"], stdin=pack.stdout
            ) as unpack,
        ):
            pack.stdin.write(there.encode())
            pack.stdin.close()
            assert unpack.wait(60) == 0
        assert pack.returncode == 0

    def boot(self) -> None:
        """Start it and wait until systemd has started all that it wants to start.

        Raises:
            TimeoutError: it does not come up; with what its console says.
        """
        console = self.folder / "console"
        with console.open("wb") as output:
            self._nspawn = subprocess.Popen(
                self._group.within([
                    # else it would go on after a test that was killed
                    *("setpriv", "--pdeathsig", "KILL"),
                    *("systemd-nspawn", "--quiet", f"--directory={self.root}", "--boot", "--private-network"),
                    *(f"--machine={self._name}", "--register=no", "--keep-unit", "--console=pipe"),
                    *("--kill-signal=SIGRTMIN+3", "--resolv-conf=off", "--timezone=off", "--link-journal=no"),
                    *(f"--bind-ro={self._image / 'mirror'}:{MIRROR}",),
                ]),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + BOOT_S
        state = ""
        while state not in ("running", "degraded"):
            if self._nspawn.poll() is not None or time.monotonic() > until:
                raise TimeoutError(
                    f"no machine ({state}): {console.read_text('utf-8', 'replace')[-4000:]}"
                )
            time.sleep(0.1)
            children = (
                Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children")
                .read_text()
                .split()
            )
            self._leader = int(children[0]) if children else 0
            if self._leader:
                state = self.ask("systemctl is-system-running || true").strip()
        assert self._name in Path(f"/proc/{self._leader}/cgroup").read_text(), (
            "its units are its own"
        )
        assert state == "running", self.ask("systemctl --failed --no-pager || true")

    @property
    def leader(self) -> int:
        """Its process 1, as this machine counts; 0 where it does not run."""
        return self._leader

    def stop(self) -> None:
        """Shut it down in order."""
        assert self._nspawn is not None
        os.kill(self._leader, signal.SIGRTMIN + 4)  # poweroff.target; source: systemd(1)
        self._nspawn.wait(STOP_S)
        self._nspawn = None

    def leave(self, folder: Path) -> None:
        """Shut it down in order and move its disk to a folder, which is to be new.

        Others may begin as copies of it.
        """
        self.stop()
        shutil.move(self.root, folder)

    def reboot(self) -> None:
        """Shut it down in order and start it again."""
        self.stop()
        self.boot()

    def _kill(self) -> None:
        assert self._nspawn is not None
        if self._leader:
            self._end(self._leader)
        self._nspawn.terminate()
        self._nspawn.wait(STOP_S)
        self._nspawn = None

    @staticmethod
    def _end(leader: int) -> None:
        try:
            os.kill(leader, signal.SIGKILL)  # process 1 takes all of its name space with it
        except ProcessLookupError:
            return

    def start(
        self, script: str, *, within_s: float = COMMAND_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of bash in the clone, as root, and return what came of it."""
        if not self._leader:
            raise CommandError("the machine does not run")
        return subprocess.run(
            [
                *("nsenter", f"--target={self._leader}", "--all", f"--wdns={CLONE}", "--", "env", "-i"),
                *(f"{name}={value}" for name, value in _ENVIRONMENT.items()),
                *("/bin/bash", "-c", script),
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=within_s, check=False,
        )  # fmt: skip

    def run(self, script: str, *, status: int = 0, within_s: float = COMMAND_S) -> str:
        """Run a script of bash as a shell that stops at the first error, and return what it says.

        Args:
            script: any number of lines.
            status: that it must end with.
            within_s: that it may take.

        Raises:
            CommandError: it ends with another one.
        """
        done = self.start(f"set -eo pipefail\n{script}", within_s=within_s)
        if done.returncode != status:
            raise CommandError(
                f"status {done.returncode}, not {status}, of\n{script}\n\n{done.stdout[-8000:]}"
            )
        return done.stdout

    def ask(self, script: str) -> str:
        """Return what a script says, whatever its status."""
        return self.start(script).stdout
