"""Who is at the terminal, for the audit log and what else names its author: by the kernel, by sudo,
by the process.
"""

from __future__ import annotations

import os
import pwd
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from oborona.audit.texts import cut_text
from oborona.people.caller import Caller, caller_at_terminal

LOGIN: Final = Path("/proc/self/loginuid")
NO_LOGIN: Final = 0xFFFFFFFF  # of what a service or a timer started
NAME: Final = 64  # letters


class TerminalPerson(NamedTuple):
    """A person, or the user of a service."""

    name: str
    source: str  # all that is known: login=anna sudo=anna uid=root
    place: str  # host, and terminal where there is one


def terminal_person() -> TerminalPerson:
    """Return who runs this command.

    Whom the kernel saw log in is believed first: neither su nor sudo changes it, nor does the
    environment.
    """
    known = {}
    with suppress(OSError, ValueError):
        login = int(LOGIN.read_text("ascii"))
        if login != NO_LOGIN:
            known["login"] = _name(login)
    if os.environ.get("SUDO_USER"):
        known["sudo"] = cut_text(os.environ["SUDO_USER"].replace(" ", "_"), NAME)
    known["uid"] = _name(os.getuid())
    return TerminalPerson(
        next(iter(known.values())),
        " ".join(f"{how}={name}" for how, name in known.items()),
        f"{os.uname().nodename}{_terminal()}",
    )


def terminal_caller() -> Caller:
    """Return who runs this command, as who calls the desk."""
    return caller_at_terminal(*terminal_person())


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)


def _terminal() -> str:
    for descriptor in range(3):
        with suppress(OSError):
            return f" {os.ttyname(descriptor).removeprefix('/dev/')}"
    return ""
