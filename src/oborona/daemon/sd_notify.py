"""Tells the service manager what state we are in: sd_notify(3), without its library.

One datagram to the socket that NOTIFY_SOCKET names: a path, or "@" and an abstract name. Nothing is
sent where the variable is missing (no systemd); a message that cannot be sent is logged, for a
daemon must not stop over it. Limits: no vsock addresses (virtual machines whose manager is on the
host).
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Final

from oborona.telemetry.log import event

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
WATCHDOG: Final = "WATCHDOG=1"

_SEND_TIMEOUT_S: Final = 1.0  # a manager whose queue is full holds us up no longer
_log: Final = logging.getLogger(__name__)


def notify(
    *states: str, environ: Mapping[str, str] = os.environ, descriptors: Sequence[int] = ()
) -> None:
    """Send assignments such as READY=1 or STATUS=text to the service manager, if there is one.

    Args:
        states: the assignments.
        environ: of this process.
        descriptors: open files that go with them.

    Source: sd_notify(3).
    """
    address = environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
            manager.settimeout(_SEND_TIMEOUT_S)
            manager.connect("\0" + address[1:] if address.startswith("@") else address)
            socket.send_fds(manager, ["\n".join(states).encode()], list(descriptors))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        event(_log, logging.WARNING, "service manager not reached", socket=address, error=error)


def reloading() -> tuple[str, str]:
    """Return what announces a reload; READY follows when it is done.

    Source: systemd.service(5), notify-reload.
    """
    return "RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"


def watchdog_interval_s(
    environ: Mapping[str, str] = os.environ, pid: int | None = None
) -> float | None:
    """Return how often WATCHDOG=1 is to be sent, half of what is allowed; None = not asked for.

    Source: sd_watchdog_enabled(3).
    """
    try:
        allowed_us = int(environ.get("WATCHDOG_USEC", "0"))
        meant = int(environ.get("WATCHDOG_PID", "0"))
    except ValueError:
        return None
    if allowed_us <= 0 or meant not in {0, pid or os.getpid()}:
        return None
    return allowed_us / 2e6
