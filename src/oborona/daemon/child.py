"""A child process of the supervisor: its job, and its steps from fork to exit.

    default signals, a process group of its own → die with the parent → a name of its own in ps →
    close what belongs to other jobs → what dies tells the parent where → give up the system calls
    that its job does not take → run the job, with its signs of life → tell the parent why it ended
    → exit, past every handler that the parent had registered

The group of its own keeps a terminal's Ctrl-C and hang-up with the parent, which passes on what is
meant for all. A job sets its signal handlers first and calls `ready` when it serves; only then it
is sent its reload signal. A signal that ends a process for a fault (SIGSEGV, SIGBUS, SIGFPE,
SIGILL) or for hanging (SIGABRT) has the stacks of all threads written to the parent's pipe first,
by a handler that allocates nothing (faulthandler): so the parent logs them in the form of the log.
Limits: a child that ignores SIGTERM outlives a parent killed with -9 (systemd ends it with its
control group).
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn, Protocol

from oborona import heartbeat
from oborona.daemon.confinement.kinds import ProcessKind, call_grants
from oborona.daemon.confinement.prctl import prctl
from oborona.daemon.confinement.priority import step_back
from oborona.daemon.confinement.seccomp import SeccompUnavailable, install_filter
from oborona.daemon.heap import trim_heap
from oborona.daemon.process_title import set_process_title
from oborona.daemon.signals import TAKEN
from oborona.errors import ConfigError, OboronaError, StoreBusy, StoreVersion
from oborona.metrics import REGISTRY
from oborona.telemetry.log import event

READY: Final = b"ready\n"
STACKS: Final = b"Fatal Python error: "  # how what faulthandler writes begins
REASON_BYTES: Final = 1000  # under PIPE_BUF: written whole or not at all
_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
NICENESS: Final = 10


class ClosableSocket(Protocol):
    """A listening socket, or its substitute."""

    def close(self) -> None:
        """Close the descriptor of this process; others keep theirs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessJob:
    """One process of the service."""

    name: str  # worker-0, writer, keeper
    run: Callable[[Callable[[], None]], int]  # in the child: gets `ready`, returns the exit status
    reload_signal: signal.Signals = signal.SIGHUP  # what SIGHUP to the supervisor becomes for it
    # told to stop when all others are gone: a writer merges what workers leave
    stops_last: bool = False
    # opened by the parent for it; closed in jobs that do not name them
    sockets: tuple[ClosableSocket, ...] = ()
    hung_s: float = math.inf  # of silence after which it is held to hang; inf = it has no heart
    vital: bool = True  # the service is there for it: while none of these serves, it does not
    kind: ProcessKind | None = None  # whose system calls alone are left to it; None = all
    # on these it is started again when somebody connects, after it ended with 0 for want of
    # anything to do; empty: its end is trouble
    wakes_on: tuple[socket.socket, ...] = ()
    gives_way: bool = False  # to processes that mail waits for


def run_job(
    job: ProcessJob,
    *,
    channel: int,
    parent: int,
    beats: heartbeat.Heartbeat,
    unneeded: Iterable[ClosableSocket],
    served: bool,
    log: logging.Logger,
) -> NoReturn:
    """Run the job in this just forked process, in which the `TAKEN` signals are blocked, and exit.

    Args:
        job: what to run.
        channel: the parent's pipe: `READY`, later perhaps the reason of the end, or the stacks of
            its threads.
        parent: its pid.
        beats: where it shows that it lives.
        unneeded: closed.
        served: the service was ready once: a broken file of an admin then ends no service, only
            this process.
        log: for what the job raises.
    """
    status = os.EX_SOFTWARE
    try:
        _default_signals()
        _die_with(parent)
        faulthandler.enable(channel, all_threads=True)
        REGISTRY.begin()  # what the parent counted is the parent's
        heartbeat.begin(beats, heartbeat.beat_interval_s(job.hung_s))
        set_process_title(f"oborona: {job.name.replace('-', ' ')}")
        for thing in unneeded:
            thing.close()
        if job.gives_way:
            step_back(NICENESS)
        if job.kind is not None:
            _confine(job.name, job.kind, log)
        status = job.run(partial(_ready, channel))
    except OboronaError as error:
        status = exit_status(error, served=served)
        event(log, logging.ERROR, "process cannot go on", process=job.name, error=error)
        _tell(channel, str(error).encode("utf-8", "backslashreplace")[:REASON_BYTES])
    except SystemExit as stop:
        status = (
            stop.code if isinstance(stop.code, int) else os.EX_SOFTWARE if stop.code else os.EX_OK
        )
    except BaseException:
        log.critical("process crashed", exc_info=True, extra={"fields": {"process": job.name}})
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status & 0xFF)


def exit_status(error: OboronaError, *, served: bool) -> int:
    """Return the status for an error that a job raised: EX_CONFIG where a restart would end the
    same way.
    """
    if isinstance(error, StoreBusy | StoreVersion) or (
        isinstance(error, ConfigError) and not served
    ):
        return os.EX_CONFIG
    return os.EX_TEMPFAIL


def _confine(name: str, kind: ProcessKind, log: logging.Logger) -> None:
    """Give up the calls that the kind does not take, for good.

    Where the kernel filters none, say so and go on.
    """
    try:
        install_filter(call_grants(kind, os.getpid()))
    except SeccompUnavailable as error:
        event(log, logging.WARNING, "system calls are not filtered", process=name, why=error)


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in TAKEN:
        signal.signal(number, signal.SIG_DFL)
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TAKEN)


def _die_with(parent: int) -> None:
    """Have the kernel send SIGTERM when the parent is gone. Source: PR_SET_PDEATHSIG(2const)."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it went before we asked
        raise SystemExit(os.EX_TEMPFAIL)


def _ready(channel: int) -> None:
    trim_heap()  # of what opening stores has left
    _tell(channel, READY)


def _tell(channel: int, message: bytes) -> None:
    with contextlib.suppress(OSError):  # the parent is gone; the kernel tells us in its own way
        os.write(channel, message)
