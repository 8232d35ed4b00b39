"""Programs of the machine's administration: found where the system has them, run without a shell,
with an end to their time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from oborona.errors import OboronaError

WAIT_S: Final = 20.0  # for one of them, on a busy machine
PATH: Final = "/usr/sbin:/usr/local/sbin:/sbin"  # where they are, beside the caller's own path


class ProgramError(OboronaError):
    """A program is not here, or did not do what it was asked for."""


class ProgramForbiddenError(ProgramError):
    """A program serves others than the user who asks."""


def program(name: str) -> str | None:
    """Return where a tool of the system's administration is; None = nowhere."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PATH}")


def exim_program() -> str | None:
    """Return where Exim is; None = nowhere."""
    return program("exim4") or program("exim")


def run(command: list[str], said: str = "", *, also: int = 0) -> str:
    """Run a program and return its output.

    Args:
        command: its path and arguments.
        said: to it, on standard input.
        also: exit status that is no failure, beside 0.

    Raises:
        ProgramError: it could not be run, took too long or failed.
    """
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603 - found in the path of the system
            command, capture_output=True, text=True, errors="replace", timeout=WAIT_S, check=False, input=said
        )  # fmt: skip
    except OSError as error:
        raise ProgramError(f"{name}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{name} did not end within {WAIT_S:g} s") from None
    if done.returncode not in (0, also):
        output = (
            "; ".join(done.stderr.split("\n")[-4:]).strip("; ") or f"exit status {done.returncode}"
        )
        raise ProgramError(f"{name}: {output}")
    return done.stdout


def begin(command: list[str]) -> None:
    """Start a program whose end nobody waits for, and which outlives us.

    Raises:
        ProgramError: it could not be started.
    """
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    try:
        os.posix_spawn(command[0], command, os.environ, file_actions=nowhere, setsid=True)
    except OSError as error:
        raise ProgramError(f"{Path(command[0]).name}: {error.strerror or error}") from error
