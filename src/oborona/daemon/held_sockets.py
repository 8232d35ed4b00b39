"""Listening TCP sockets that the service manager keeps while the service is restarted: who connects
meanwhile waits in the kernel's queue, instead of being told that nobody is there.

The manager is sent a copy of each socket under a name made of its address, and hands it to the next
process, as it would one of a socket unit. When the service is stopped for good it lets go of them,
and connections are refused. Socket files are not kept: a stop can't be told from a restart, and a
file on which nobody listens makes some mail servers put mail off that would else come in.

Source: sd_pid_notify_with_fds(3), FDSTORE=1; sd_listen_fds(3); systemd.service(5),
FileDescriptorStoreMax=.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import MutableMapping
from typing import Final, Self

from oborona.config.address import InetAddress, UnixAddress
from oborona.daemon import sd_notify
from oborona.telemetry.log import event

FIRST: Final = 3  # descriptor. Source: sd_listen_fds(3)
MAX: Final = 64  # more than there are listeners
_PREFIX: Final = "oborona "  # others' are none of ours
_log: Final = logging.getLogger(__name__)


class HeldSockets:
    """What the manager kept for us, until it is taken.

    Args:
        environ: of this process; what concerns the sockets is taken out, since children inherit
            neither.
        pid: of this process.
    """

    def __init__(
        self, environ: MutableMapping[str, str] = os.environ, pid: int | None = None
    ) -> None:
        self._held: dict[str, socket.socket] = {}
        values = [environ.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")]
        try:
            meant, count = int(values[0] or 0), int(values[1] or 0)
        except ValueError:
            return
        if meant != (pid or os.getpid()) or not 0 < count <= MAX:
            return
        for descriptor, name in zip(
            range(FIRST, FIRST + count), values[2].split(":"), strict=False
        ):
            self._add(descriptor, name)

    def _add(self, descriptor: int, name: str) -> None:
        if not name.startswith(_PREFIX):
            return
        try:
            sock = socket.socket(fileno=descriptor)
        except OSError as error:
            event(_log, logging.WARNING, "kept socket is none", name=name, error=error)
            return
        sock.set_inheritable(False)
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and name not in self._held:
            sock.setblocking(False)
            self._held[name] = sock
        else:
            sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        """Let go of those that nobody took: their address is not in the settings any more."""
        for name, sock in self._held.items():
            sock.close()
            sd_notify.notify("FDSTOREREMOVE=1", f"FDNAME={name}")
        self._held.clear()

    def take(self, address: InetAddress | UnixAddress) -> socket.socket | None:
        """Return the socket that listened there before us; None = there is none."""
        return self._held.pop(_name(address), None) if isinstance(address, InetAddress) else None


def keep(sock: socket.socket, address: InetAddress | UnixAddress) -> None:
    """Have the manager keep a copy of a socket, if there is a manager and it is a TCP one."""
    if isinstance(address, InetAddress):
        sd_notify.notify("FDSTORE=1", f"FDNAME={_name(address)}", descriptors=(sock.fileno(),))


def _name(address: InetAddress) -> str:
    """Return how the manager calls it: a name has no colons. Source: sd_notify(3), FDNAME."""
    return f"{_PREFIX}{address.host} {address.port}".replace(":", ".")
