"""How a failing command ends: one line, and an exit status that tells the kind of failure."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from types import MappingProxyType
from typing import Final

from oborona.cli.mailboxes import UnreadableMail
from oborona.cli.output import OutputError
from oborona.desk.file_errors import UnreadableListError
from oborona.desk.programs import ProgramForbiddenError
from oborona.errors import (
    ConfigError,
    OboronaError,
    SocketError,
    StoreBusy,
    StoreError,
    StoreForbidden,
    StoreForeign,
    StoreVersion,
)

_STATUS: Final = (
    (UnreadableMail, os.EX_NOINPUT),
    (UnreadableListError, os.EX_NOINPUT),
    (OutputError, os.EX_IOERR),
    (ConfigError, os.EX_CONFIG),
    (SocketError, os.EX_OSERR),
    (StoreBusy, os.EX_CONFIG),
    (StoreVersion, os.EX_CONFIG),
    (StoreForeign, os.EX_CONFIG),
    (StoreForbidden, os.EX_NOPERM),
    (ProgramForbiddenError, os.EX_NOPERM),
    (StoreError, os.EX_IOERR),
    (OboronaError, os.EX_DATAERR),
)
MEANINGS: Final = MappingProxyType(
    {
        os.EX_OK: "done",
        1: "a check of the command found something, or nothing was found",
        2: "wrong usage",
        os.EX_DATAERR: "what was given can't be used",
        os.EX_NOINPUT: "a file can't be read",
        os.EX_SOFTWARE: "a fault of ours",
        os.EX_OSERR: "a socket can't be had",
        os.EX_IOERR: "a store can't be used, or the output not written",
        os.EX_TEMPFAIL: "nobody answers; try again",
        os.EX_NOPERM: "this user may not do it",
        os.EX_CONFIG: "what an admin must mend before another start can do better: settings or policy "
        "are wrong, another process holds the store, a newer Oborona wrote it, or it was begun with "
        "another secret",
    }
)
"""Exit status → what it tells; those above 2 are of sysexits.h."""
DEEP: Final = 10  # errors behind an error


def status_of(error: OboronaError | OSError) -> int:
    """Return the exit status of an error."""
    if forbidden(error) and not isinstance(
        error, UnreadableMail | UnreadableListError | OutputError | SocketError | ConfigError
    ):
        return os.EX_NOPERM
    return next((status for kind, status in _STATUS if isinstance(error, kind)), os.EX_IOERR)


def line_of(error: OboronaError | OSError, state: Path | None) -> str:
    """Return what is said of an error, with who may do what this user may not.

    Args:
        error: that ended the command.
        state: the state folder; None where it is not known.
    """
    if isinstance(error, OSError):
        line = (
            f"{error.filename}: {error.strerror}"
            if error.filename and error.strerror
            else str(error)
        )
    else:
        line = str(error)
    if forbidden(error) and os.geteuid() != 0:
        line += f"; run it as {_who(state)}"
    return line


def forbidden(error: BaseException) -> bool:
    """Whether it is so because this user may not do it."""
    cause: BaseException | None = error
    for _ in range(DEEP):
        if cause is None:
            return False
        if isinstance(cause, PermissionError | StoreForbidden):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _who(state: Path | None) -> str:
    try:
        owner = None if state is None else state.stat().st_uid
        name = "" if not owner else pwd.getpwuid(owner).pw_name
    except (OSError, KeyError):
        name = ""
    return f"root or as user {name}" if name else "root or as the user of the daemon"
