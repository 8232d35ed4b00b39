"""What `oborona doctor` says of the listeners: does each answer, and can it be reached."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona.config import Address, UnixAddress
from oborona.daemon.listeners import NONE_OPEN, takes_mail
from oborona.daemon.sockets import closed_folder
from oborona.desk.doctor.probes import DECISIVE_BYTES, ListenerProbe, listener_probes
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site

WAIT_S: Final = 3.0  # for an answer of the daemon or Postfix's tools


def doors(context: Site) -> Iterator[CheckReport]:
    """Ask at each listener that the settings open."""
    settings = context.loaded.settings
    if not takes_mail(settings):
        yield CheckReport("listener", CheckState.FAIL, NONE_OPEN)
    for door in listener_probes(settings):
        yield from _knock(door)
        if isinstance(door.address, UnixAddress):
            path = door.address.path
            closed = closed_folder(Path(path))
            if closed is not None:
                words = f"{closed} is closed to others: can the mail server's user get to {path}?"
                yield CheckReport("path", CheckState.WARN, words)


def _knock(door: ListenerProbe) -> Iterator[CheckReport]:
    address = door.address
    try:
        with _connect(address) as peer:
            peer.sendall(door.hello)
            reply = peer.recv(DECISIVE_BYTES)
        if door.reply.match(reply):
            yield CheckReport(door.name, CheckState.OK, f"a {door.kind} answers on {address}")
        elif door.closed and reply.startswith(door.closed):
            words = f"a {door.kind} answers on {address} and accepts no mail now: the log says why"
            yield CheckReport(door.name, CheckState.FAIL, words)
        else:
            yield CheckReport(
                door.name,
                CheckState.FAIL,
                f"something listens on {address}, and it is no {door.kind}",
            )
    except (FileNotFoundError, ConnectionRefusedError):
        yield CheckReport(
            door.name, CheckState.FAIL, f"nothing listens on {address}: the daemon does not run"
        )
        yield _bindable(door)
    except OSError as error:
        yield CheckReport(door.name, CheckState.FAIL, f"{address}: {error.strerror or error}")


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


def _bindable(door: ListenerProbe) -> CheckReport:
    address = door.address
    if isinstance(address, UnixAddress):
        folder = Path(address.path).parent
        if Path(address.path).exists() and not Path(address.path).is_socket():
            return CheckReport(
                "socket",
                CheckState.FAIL,
                f"{address.path} is there and is no socket: it is not removed",
            )
        if not folder.is_dir():
            return CheckReport(
                "socket",
                CheckState.FAIL,
                f"{folder} is not there: make it, or set {door.setting} elsewhere",
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            return CheckReport(
                "socket", CheckState.FAIL, f"{folder} can't be written to by this user"
            )
        return CheckReport("socket", CheckState.OK, f"{folder} can hold it")
    try:
        family = socket.AF_INET6 if address.v6 else socket.AF_INET
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((address.host, address.port))
    except OSError as error:
        return CheckReport("socket", CheckState.FAIL, f"{address}: {error.strerror}")
    return CheckReport("socket", CheckState.OK, f"{address} can be had")
