"""What `oborona doctor` says of the listeners: does each answer, and can it be reached."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona.cli.asked import Asked
from oborona.cli.knocks import HEARD, Knock, knocks
from oborona.cli.report import Report, State
from oborona.config import Address, UnixAddress
from oborona.daemon.listeners import NONE_OPEN, any_open
from oborona.daemon.sockets import closed_folder

WAIT_S: Final = 3.0  # for an answer of the daemon or Postfix's tools


def doors(asked: Asked) -> Iterator[Report]:
    """Ask at each listener that the settings open."""
    settings = asked.loaded.settings
    if not any_open(settings):
        yield Report("listener", State.FAIL, NONE_OPEN)
    for door in knocks(settings):
        yield from _knock(door)
        if isinstance(door.address, UnixAddress):
            path = door.address.path
            closed = closed_folder(Path(path))
            if closed is not None:
                words = f"{closed} is closed to others: can the mail server's user get to {path}?"
                yield Report("path", State.WARN, words)


def _knock(door: Knock) -> Iterator[Report]:
    address = door.address
    try:
        with _connect(address) as peer:
            peer.sendall(door.hello)
            heard = peer.recv(HEARD)
        if door.reply.match(heard):
            yield Report(door.name, State.OK, f"a {door.kind} answers on {address}")
        elif door.closed and heard.startswith(door.closed):
            words = f"a {door.kind} answers on {address} and accepts no mail now: the log says why"
            yield Report(door.name, State.FAIL, words)
        else:
            yield Report(
                door.name, State.FAIL, f"something listens on {address}, and it is no {door.kind}"
            )
    except (FileNotFoundError, ConnectionRefusedError):
        yield Report(
            door.name, State.FAIL, f"nothing listens on {address}: the daemon does not run"
        )
        yield _bindable(door)
    except OSError as error:
        yield Report(door.name, State.FAIL, f"{address}: {error.strerror or error}")


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
                "socket", State.FAIL, f"{address.path} is there and is no socket: it is not removed"
            )
        if not folder.is_dir():
            return Report(
                "socket",
                State.FAIL,
                f"{folder} is not there: make it, or set {door.setting} elsewhere",
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            return Report("socket", State.FAIL, f"{folder} can't be written to by this user")
        return Report("socket", State.OK, f"{folder} can hold it")
    try:
        family = socket.AF_INET6 if address.v6 else socket.AF_INET
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((address.host, address.port))
    except OSError as error:
        return Report("socket", State.FAIL, f"{address}: {error.strerror}")
    return Report("socket", State.OK, f"{address} can be had")
