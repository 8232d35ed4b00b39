"""The program of `inspector.hook_command`: run without a shell, with an end to its time, and only
where nobody but root can have changed it.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from oborona.desk.programs import ProgramError
from oborona.desk.site import Site

ENVIRONMENT: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
COMPLAINT: Final = 4096  # octets of what it says last on standard error
LINES: Final = 3  # of that


class HookProgram:
    """One command.

    Args:
        command: absolute path, and arguments.
        settings: the file that names it; None = there is none.
        within_s: seconds that one run may take.
    """

    def __init__(self, command: Sequence[str], settings: Path | None, *, within_s: float) -> None:
        self._command = list(command)
        self._settings = settings
        self._within_s = within_s

    @property
    def trouble(self) -> str:
        """Why it is not run; empty = it is."""
        path = Path(self._command[0])
        if not path.is_file() or not os.access(path, os.X_OK):
            return f"{path}: no program that can be run"
        named = [] if self._settings is None else [self._settings.absolute()]
        troubles = (_changeable(one) for one in (path, path.resolve(), *named))
        return next(filter(None, troubles), "")

    def run(self, said: bytes) -> None:
        """Have it hear something.

        What it starts is ended with it, where its time is over. What it writes to standard
        output goes where ours does.

        Args:
            said: on standard input.

        Raises:
            ProgramError: it is not run, could not be, took too long or failed.
        """
        if trouble := self.trouble:
            raise ProgramError(trouble)
        name = Path(self._command[0]).name
        with tempfile.TemporaryFile() as heard, tempfile.TemporaryFile() as told:
            heard.write(said)
            heard.seek(0)  # a file, no pipe: one that does not read it can't stop us
            try:
                process = subprocess.Popen(  # noqa: S603 - of the settings, which are root's
                    self._command,
                    stdin=heard,
                    stderr=told,
                    cwd="/",
                    env=ENVIRONMENT,
                    start_new_session=True,
                )
            except OSError as error:
                raise ProgramError(f"{name}: {error.strerror or error}") from error
            try:
                status = process.wait(self._within_s)
            except subprocess.TimeoutExpired:
                raise ProgramError(f"{name} did not end within {self._within_s:g} s") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if status:
                raise ProgramError(f"{name}: {_last_lines(told.fileno()) or _status(status)}")


def hook_program(context: Site) -> HookProgram | None:
    """Return the program of the settings; None = they name none."""
    inspector = context.loaded.settings.inspector
    if not inspector.hook_command:
        return None
    words, within_s = inspector.hook_command.split(" "), inspector.hook_command_s
    return HookProgram(words, context.loaded.file, within_s=within_s)


def _last_lines(told: int) -> str:
    octets = os.pread(told, COMPLAINT, max(0, os.fstat(told).st_size - COMPLAINT))
    return "; ".join(octets.decode(errors="replace").strip().splitlines()[-LINES:])


def _status(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"ended by signal {-status}"


def _changeable(path: Path) -> str:
    """Return who beside root and us could replace a file, in words; empty = nobody.

    Args:
        path: absolute.
    """
    for one in (path, *path.parents):
        found = one.lstat()
        if found.st_uid not in (0, os.geteuid()):
            return f"{one}: it is not root's, so root does not run it"
        shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if shared and not sticky and not stat.S_ISLNK(found.st_mode):
            return f"{one}: others than its owner may write to it, so it is not run"
    return ""
