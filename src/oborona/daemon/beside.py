"""Processes of rooms that stand above the daemon's: beside its own, or alone."""

from __future__ import annotations

import faulthandler
import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from oborona.config import LoadedSettings
from oborona.daemon.confinement.kinds import ProcessKind
from oborona.daemon.confinement.memory import keep_memory_private
from oborona.daemon.heap import use_one_heap
from oborona.daemon.supervisor import ProcessJob, Supervisor
from oborona.telemetry.log import LogFormat, set_up

log = logging.getLogger("oborona")


class BesideProcess(NamedTuple):
    """A process of a room that stands above this one, which is started with the others."""

    name: str
    kind: ProcessKind
    # opens what it listens on; who runs may return 0 when nobody has come for long
    listen: Callable[[ExitStack], tuple[socket.socket, ...]]
    run: Callable[[tuple[socket.socket, ...], Callable[[], None]], int]
    gives_way: bool = False  # to processes that mail waits for


def run_beside(
    loaded: LoadedSettings, others: Sequence[BesideProcess], on_ready: Callable[[], None]
) -> int:
    """Run processes of rooms above alone, until SIGTERM; neither policy nor state is looked at.

    Args:
        loaded: the settings.
        others: at least one.
        on_ready: called once, when all of them serve.

    Returns:
        Exit status.

    Raises:
        SocketError: one can't be opened.
    """
    set_up(LogFormat(loaded.settings.log.format), loaded.settings.log.level.upper())
    faulthandler.enable()
    keep_memory_private()
    use_one_heap()
    with ExitStack() as listening:
        jobs = [beside_job(loaded, other, listening, vital=True) for other in others]
        if not loaded.settings.confine.system_calls:
            jobs = [replace(job, kind=None) for job in jobs]
        return Supervisor(
            jobs,
            grace_s=loaded.settings.worker.drain_s + 5.0,
            on_ready=on_ready,
            on_stop=listening.close,
            log=log,
        ).run()


def beside_job(
    loaded: LoadedSettings, other: BesideProcess, listening: ExitStack, *, vital: bool
) -> ProcessJob:
    """Return a process as a job of a supervisor, its sockets opened.

    Args:
        loaded: the settings.
        other: which.
        listening: closes its sockets.
        vital: the service is there for it.
    """
    opened = other.listen(listening)
    return ProcessJob(
        name=other.name,
        run=partial(other.run, opened),
        sockets=opened,
        wakes_on=opened,
        hung_s=loaded.settings.worker.hung_s,
        vital=vital,
        kind=other.kind,
        gives_way=other.gives_way,
    )
