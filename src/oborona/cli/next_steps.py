"""The next steps for somebody who started the daemon by hand, printed once all processes serve."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Final

from oborona.cli.context import CliContext
from oborona.config import Settings
from oborona.desk.gtube import GTUBE
from oborona.desk.postfix.change import RefusedError, attach_change, entry_for
from oborona.desk.postfix.instance import MILTERS, PostfixError, PostfixInstance
from oborona.desk.programs import program

POLICY_SERVICE: Final = "check_policy_service {{ {}, timeout=25s, default_action=DUNNO }}"


def what_next(context: CliContext) -> list[str]:
    """Return the lines: how the mail server of this machine is told of us, how that is proved,
    where more is to be read.
    """
    settings = context.loaded.settings
    ours = _command(context)
    root = "" if os.geteuid() == 0 else "sudo "
    lines = ["", "Next:"]
    if settings.doors.milter.listen:
        lines += _postfix(settings, f"{root}{ours} attach", f"{ours} attach exim")
    if settings.doors.policy_service.listen:
        entry = POLICY_SERVICE.format(settings.doors.policy_service.address.postfix)
        lines.append(f"  in Postfix's main.cf, last of smtpd_recipient_restrictions: {entry}")
    lines += [
        f"  {root}{ours} doctor",
        (
            "      proves it: a GTUBE through the very address that Postfix names, and what "
            "else may be wrong"
        ),
        (
            "  send a message with this line: it is refused with 550; any other mail arrives "
            "with X-Mras and its reasons"
        ),
        f"      {GTUBE}",
        (
            "  docs/install.md sets it up for good; Ctrl-C stops this one, and mail then "
            "passes unfiltered"
        ),
    ]
    return lines


def _postfix(settings: Settings, attach: str, attach_exim: str) -> list[str]:
    address = settings.doors.milter.address
    try:
        change = attach_change(PostfixInstance(), address)
    except RefusedError as error:
        return [f"  Postfix: {error}"]
    except PostfixError:  # there is none, or who asks may not read its settings
        exim = [f"  {attach_exim}", "      says what to add to Exim"] if program("exim4") else []
        return exim or [
            f"  when Postfix is installed: {attach}",
            (
                f"      shows this line for its main.cf, and writes it when you confirm: "
                f"{MILTERS} = {entry_for(address.postfix)}"
            ),
        ]
    if not change.changes:
        return [f"  Postfix asks us already: {MILTERS} = {change.value}"]
    return [
        f"  {attach}",
        (
            f"      shows this line for Postfix's main.cf, and writes it when you confirm: "
            f"{MILTERS} = {change.value}"
        ),
    ]


def _command(context: CliContext) -> str:
    """Return how this program was called, with its settings."""
    program_path = sys.argv[0]
    relative = os.path.relpath(program_path)
    name = (
        relative
        if Path(program_path).is_absolute() and not relative.startswith("..")
        else program_path
    )
    file = context.loaded.file
    return shlex.join([name, *(["--config", str(file)] if file else [])])
