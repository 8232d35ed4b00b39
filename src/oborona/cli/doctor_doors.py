"""What `oborona doctor` says of the doors: does each answer, can the mail server get to it, and does Postfix ask there."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from oborona.cli.asked import Asked
from oborona.cli.knocks import HEARD, Knock, knocks
from oborona.cli.report import Report, State
from oborona.config import Address, UnixAddress
from oborona.milter.entrances import NONE_OPEN, any_open
from oborona.milter.sockets import closed_folder

WAIT_S: Final = 3.0  # for an answer of the daemon or Postfix's tools
MILTERS: Final = "smtpd_milters"
RESTRICTIONS: Final = tuple(
    f"smtpd_{stage}_restrictions"
    for stage in ("client", "helo", "sender", "relay", "recipient", "data", "end_of_data")
)
_CHECK: Final = re.compile(r"\bcheck_policy_service[\s,{]+([^\s,{}]+)")


def doors(asked: Asked) -> Iterator[Report]:
    """Knock at each door that the settings open."""
    settings = asked.loaded.settings
    if not any_open(settings):
        yield Report("door", State.WRONG, NONE_OPEN)
    for door in knocks(settings):
        yield from _knock(door)
        if isinstance(door.address, UnixAddress):
            path = door.address.path
            closed = closed_folder(Path(path))
            if closed is not None:
                words = f"{closed} is closed to others: can the mail server's user get to {path}?"
                yield Report("path", State.LOOK, words)


def _knock(door: Knock) -> Iterator[Report]:
    address = door.address
    try:
        with _connect(address) as peer:
            peer.sendall(door.hello)
            heard = peer.recv(HEARD)
        if door.reply.match(heard):
            yield Report(door.name, State.FINE, f"a {door.kind} answers on {address}")
        elif door.closed and heard.startswith(door.closed):
            words = f"a {door.kind} answers on {address} and lets nobody in now: the log says why"
            yield Report(door.name, State.WRONG, words)
        else:
            yield Report(door.name, State.WRONG, f"something listens on {address} and is no {door.kind}")
    except (FileNotFoundError, ConnectionRefusedError):
        yield Report(door.name, State.LOOK, f"nothing listens on {address}: the daemon does not run")
        yield _bindable(door)
    except OSError as error:
        yield Report(door.name, State.WRONG, f"{address}: {error.strerror or error}")


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


def _bindable(door: Knock) -> Report:
    address = door.address
    if isinstance(address, UnixAddress):
        folder = Path(address.path).parent
        if Path(address.path).exists() and not Path(address.path).is_socket():
            return Report(
                "socket", State.WRONG, f"{address.path} is there and is no socket: it is not removed"
            )
        if not folder.is_dir():
            return Report(
                "socket", State.WRONG, f"{folder} is not there: make it, or set {door.setting} elsewhere"
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


def postfix(asked: Asked) -> Iterator[Report]:
    """Tell whether the Postfix of this machine asks us, where a door is open for that."""
    settings = asked.loaded.settings
    if not settings.doors.milter.listen and not settings.doors.policy_service.listen:
        return
    postconf = shutil.which("postconf", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if postconf is None:
        yield Report("mail server", State.LOOK, "no Postfix here (no postconf)")
        return
    try:
        said = _parameters(postconf)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Report("mail server", State.LOOK, f"postconf: {error}")
        return
    by_milter = False
    if settings.doors.milter.listen:
        address, milters = settings.doors.milter.address, said.get(MILTERS, "")
        by_milter = any(_is(address, word) for word in re.split(r"[\s,{}]+", milters))
        if by_milter:
            yield Report("mail server", State.FINE, f"Postfix asks us: {MILTERS} = {milters}")
        else:
            line = f"{MILTERS} = {{ {address.postfix}, default_action=accept }}"
            yield Report("mail server", State.LOOK, f"Postfix does not ask us; put into main.cf: {line}")
    if settings.doors.policy_service.listen:
        yield _policy_service(settings.doors.policy_service.address, said, by_milter=by_milter)


def _policy_service(address: Address, said: Mapping[str, str], *, by_milter: bool) -> Report:
    what = "policy client"
    asking = [
        name
        for name in RESTRICTIONS
        if any(_is(address, word) for word in _CHECK.findall(said.get(name, "")))
    ]
    if not asking:
        entry = f"check_policy_service {{ {address.postfix}, timeout=25s, default_action=DUNNO }}"
        words = f"Postfix does not ask us; put last into smtpd_recipient_restrictions: {entry}"
        return Report(what, State.LOOK, words)
    names = " and ".join(asking)
    if by_milter:
        words = (
            f"Postfix asks us in {names} and as a milter: each client is judged twice; one of both is enough"
        )
        return Report(what, State.LOOK, words)
    return Report(what, State.FINE, f"Postfix asks us in {names}")


def _parameters(postconf: str) -> dict[str, str]:
    """Return what main.cf says, by parameter.

    Raises:
        OSError, subprocess.TimeoutExpired: postconf can't be asked.
    """
    done = subprocess.run(  # noqa: S603 - found in the path of the system
        [postconf, MILTERS, *RESTRICTIONS], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    lines = (line.partition(" =") for line in done.stdout.splitlines())
    return {name: value.strip() for name, _, value in lines}


def _is(address: Address, word: str) -> bool:
    """Tell whether Postfix means a door of ours; in a chroot it names a socket from its own root."""
    scheme, _, place = word.partition(":")
    if isinstance(address, UnixAddress):
        inside = f"/{place.lstrip('/')}"
        return scheme in ("unix", "local") and bool(place) and address.path.endswith(inside)
    return word.replace(":localhost:", ":127.0.0.1:") == address.postfix
