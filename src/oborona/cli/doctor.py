"""`oborona doctor`: can it bind, write, resolve; is the mail server attached."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click
from rich.table import Table

from oborona import secret
from oborona.cli.asked import Asked, pass_asked
from oborona.cli.doctor_counters import counters
from oborona.cli.doctor_dns import dns
from oborona.cli.report import Report, State
from oborona.cli.terminal import PIPED, Terminal
from oborona.config import Address, UnixAddress
from oborona.errors import OboronaError, StoreError
from oborona.milter.sockets import closed_folder
from oborona.milter.worker import JOURNAL
from oborona.recheck.reading import Reader

ROOM: Final = 1 << 30  # bytes free on the state's disk: below it counters and journal have days, not weeks
WAIT_S: Final = 3.0  # for an answer of the daemon or Postfix's tools
OPTNEG: Final = bytes.fromhex("0000000d4f00000006000001ff001fffff")  # what a mail server says first


@click.command()
@pass_asked
def doctor(asked: Asked) -> None:
    """Look at everything the daemon needs, and say what is wrong and what to do.

    Exit status 1 when something is wrong.
    """
    reports = [
        report for check in (_policy, _state, counters, _door, dns, _postfix) for report in check(asked)
    ]
    table = Table("", "what", "finding", show_edge=False)
    table.columns[2].overflow = "fold"  # the end of a path is what tells it from others
    colours = {State.FINE: "green", State.LOOK: "yellow", State.WRONG: "red"}
    for report in reports:
        table.add_row(f"[{colours[report.state]}]{report.state}[/]", report.what, report.words)
    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)
    if any(report.state is State.WRONG for report in reports):
        click.get_current_context().exit(1)


def _policy(asked: Asked) -> Iterator[Report]:
    yield Report(
        "settings", State.FINE, str(asked.loaded.file or "defaults")
    )  # what is wrong there ends every command
    yield _try("policy", lambda: f"{asked.policy_folder}: {len(asked.policy().rules)} rules")


def _state(asked: Asked) -> Iterator[Report]:
    folder = asked.state
    if not folder.is_dir():
        yield Report("state", State.LOOK, f"{folder} is not there; the daemon makes it when it first starts")
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Report(
            "state", State.LOOK, f"{folder}: not writable for who asks now; run this as the daemon's user"
        )
    else:
        yield Report("state", State.FINE, f"{folder} can be written")
    free = shutil.disk_usage(folder).free
    yield Report("disk", State.FINE if free > ROOM else State.WRONG, f"{free / (1 << 20):,.0f} MiB free")
    yield _try("secret", lambda: _secret(folder))
    journal = folder / JOURNAL
    if journal.exists():
        yield _try("journal", lambda: asyncio.run(_journal(journal)))
    else:
        yield Report("journal", State.LOOK, f"{journal} is not there yet")


def _secret(folder: Path) -> str:
    secret.load(folder)
    return f"{folder / secret.FILE}; keep it in the backup"


async def _journal(path: Path) -> str:
    async with await Reader.open(path) as journal:
        return f"{path} can be read: {await journal.count()} verdicts"


def _door(asked: Asked) -> Iterator[Report]:
    address = asked.loaded.settings.milter.address
    try:
        with _connect(address) as peer:
            peer.sendall(OPTNEG)
            answered = peer.recv(5)[4:5] == b"O"
        if answered:
            yield Report("door", State.FINE, f"a milter answers on {address}")
        else:
            yield Report("door", State.WRONG, f"something listens on {address} and is no milter")
    except (FileNotFoundError, ConnectionRefusedError):
        yield Report("door", State.LOOK, f"nothing listens on {address}: the daemon does not run")
        yield _bindable(address)
    except OSError as error:
        yield Report("door", State.WRONG, f"{address}: {error.strerror or error}")
    if isinstance(address, UnixAddress):
        closed = closed_folder(Path(address.path))
        if closed is not None:
            words = f"{closed} is closed to others: can the mail server's user get to {address.path}?"
            yield Report("path", State.LOOK, words)


def _connect(address: Address) -> socket.socket:
    if isinstance(address, UnixAddress):
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.settimeout(WAIT_S)
            peer.connect(address.path)
        except OSError:
            peer.close()
            raise
        return peer
    return socket.create_connection((address.host, address.port), timeout=WAIT_S)


def _bindable(address: Address) -> Report:
    if isinstance(address, UnixAddress):
        folder = Path(address.path).parent
        if Path(address.path).exists() and not Path(address.path).is_socket():
            return Report(
                "socket", State.WRONG, f"{address.path} is there and is no socket: it is not removed"
            )
        if not folder.is_dir():
            return Report(
                "socket", State.WRONG, f"{folder} is not there: make it, or set milter.listen elsewhere"
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            return Report("socket", State.WRONG, f"{folder} can't be written by who asks now")
        return Report("socket", State.FINE, f"{folder} can hold it")
    try:
        family = socket.AF_INET6 if address.v6 else socket.AF_INET
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((address.host, address.port))
    except OSError as error:
        return Report("socket", State.WRONG, f"{address}: {error.strerror}")
    return Report("socket", State.FINE, f"{address} can be had")


def _postfix(asked: Asked) -> Iterator[Report]:
    postconf = shutil.which("postconf", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if postconf is None:
        yield Report("mail server", State.LOOK, "no Postfix here (no postconf)")
        return
    try:
        done = subprocess.run(  # noqa: S603 - found above
            [postconf, "-h", "smtpd_milters", "milter_default_action"],
            capture_output=True, text=True, timeout=WAIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Report("mail server", State.LOOK, f"postconf: {error}")
        return
    milters = done.stdout.partition("\n")[0]
    address = asked.loaded.settings.milter.address
    name = address.path if isinstance(address, UnixAddress) else address.postfix.partition(":")[2]
    # In a chroot Postfix names the socket from its own root.
    if name in milters or Path(name).name in milters.replace("/", " ").replace(",", " ").split():
        yield Report("mail server", State.FINE, f"Postfix asks us: smtpd_milters = {milters}")
    else:
        line = f"smtpd_milters = {{ {address.postfix}, default_action=accept }}"
        yield Report("mail server", State.LOOK, f"Postfix does not ask us; put into main.cf: {line}")


def _try(what: str, looked: Callable[[], str]) -> Report:
    try:
        return Report(what, State.FINE, looked())
    except (OboronaError, StoreError) as error:
        return Report(what, State.WRONG, str(error))
