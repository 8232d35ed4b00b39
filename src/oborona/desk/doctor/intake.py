"""What `oborona doctor` says of the intake: does it run, can it write down what it hears, and does
this machine's Dovecot speak to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona.config import UnixAddress
from oborona.daemon.intake.event_sink import EVENTS, REFUSED
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.doors.tokens import AccessTokens
from oborona.errors import ConfigError
from oborona.telemetry import status

WAIT_S: Final = 3.0  # for Dovecot's tools
WAITING: Final = 100  # files in the spool beyond which somebody should look
CLOSED: Final = 0o3733  # of the spool: everybody may leave something, nobody may look


def intake(context: Site) -> Iterator[CheckReport]:
    """Look at the intake, if it has a door."""
    settings = context.loaded.settings.intake
    if not settings.doors:
        return
    yield _process(context)
    if settings.http_token_file:
        try:
            AccessTokens(Path(settings.http_token_file))
            yield CheckReport("tokens", CheckState.OK, f"{settings.http_token_file} can be used")
        except ConfigError as error:
            yield CheckReport("tokens", CheckState.FAIL, str(error))
    if settings.spool:
        yield _spool(Path(settings.spool))
    if settings.listen and isinstance(settings.address, UnixAddress):
        yield from _dovecot(settings.address)


def _process(context: Site) -> CheckReport:
    intake_status = status.read_process(context.state, status.IntakeStatus, time.time())
    if intake_status is None:
        return CheckReport(
            "intake", CheckState.WARN, "does not run, or not yet: reports of people are not taken"
        )
    if intake_status.trouble:
        return CheckReport(
            "intake", CheckState.FAIL, f"reports can't be stored: {intake_status.trouble}"
        )
    processed = sum(EVENTS.samples(intake_status.metrics).values())
    refused = sum(REFUSED.samples(intake_status.metrics).values())
    return CheckReport(
        "intake",
        CheckState.OK,
        f"runs (pid {intake_status.pid}); {processed} reports and other events, {refused} requests refused",
    )


def _spool(folder: Path) -> CheckReport:
    try:
        mode = folder.stat().st_mode & 0o7777
        waiting = sum(
            not name.startswith(".") for name in (entry.name for entry in folder.iterdir())
        )
    except OSError as error:
        return CheckReport(
            "spool",
            CheckState.FAIL,
            f"{folder}: {error.strerror}; make it as docs/people/dovecot.md says",
        )
    if mode != CLOSED:
        words = (
            f"{folder} has mode {mode:04o}; it should have {CLOSED:04o}, so that no user "
            f"sees another's mail"
        )
        return CheckReport("spool", CheckState.WARN, words)
    if waiting > WAITING:
        return CheckReport(
            "spool",
            CheckState.WARN,
            f"{waiting} files wait in {folder}: was the intake stopped for long?",
        )
    return CheckReport("spool", CheckState.OK, f"{folder}: {waiting} files wait")


def _dovecot(address: UnixAddress) -> Iterator[CheckReport]:
    """Tell whether the Dovecot of this machine knows our socket."""
    doveconf = shutil.which("doveconf", path=f"{os.environ.get('PATH', '')}:/usr/bin")
    if doveconf is None:
        return
    try:
        done = subprocess.run(  # noqa: S603 - found in the path of the system
            [doveconf, "-h", "base_dir", "plugin/sieve_execute_socket_dir"],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield CheckReport("dovecot", CheckState.WARN, f"doveconf: {error}")
        return
    base, _, folder = done.stdout.strip().partition("\n")
    socket = Path(address.path)
    if not folder:
        yield CheckReport(
            "dovecot",
            CheckState.WARN,
            "Dovecot reports nothing: install 91-oborona-feedback.conf (docs/people/dovecot.md)",
        )
    elif os.path.normpath(f"{base}/{folder}/feedback.sock") != os.path.normpath(socket):
        words = f"Dovecot looks for {base}/{folder}/feedback.sock, and intake.listen is {socket}"
        yield CheckReport("dovecot", CheckState.FAIL, words)
    else:
        yield CheckReport("dovecot", CheckState.OK, f"Dovecot looks for {socket}")
