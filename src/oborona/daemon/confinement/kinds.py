"""The system calls that each kind of process is granted from its start on.

    picture  once it is ready, computes and answers: opens no file and no connection, starts
             nothing, signals nobody but itself
    worker, publisher, intake, keeper, exporter, flow asker, desk
             read and write files, connect, start threads; no program, no process, no signal to
             another one, no name space, nothing that looks into other processes, no kernel
             interface beside files and sockets, no memory that is made executable
    writer, trainer, metrics, console
             the same, and no connection but socket files; the writer of a cluster and the trainers
             of a site of several machines speak TCP
             (io_uring is refused from the start because what is asked for through its memory passes
             no filter: libuv does without it where it is not there when a loop is made)
    reader, final trainer, flows
             start the processes that look at pictures, that train, and nfdump, which inherit what
             they are granted; the first two give up the rest themselves

What files and addresses there are is not decided here, but by permissions and by the unit.

Source: seccomp(2); the calls of CPython 3.11 to 3.13, uvloop, LMDB, SQLite, OpenSSL, libmilter and
glibc, as traced.
"""

from __future__ import annotations

import enum
import errno
import socket
from collections.abc import Iterable
from typing import Final

from oborona.daemon.confinement import system_calls
from oborona.daemon.confinement.seccomp import GRANTED, ArgumentRule, CallGrant

_CLONE_THREAD: Final = 0x00010000  # linux/sched.h
_NAME_SPACES: Final = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_PROT_WRITE, _PROT_EXEC = 2, 4  # asm-generic/mman-common.h
_PR_SET_NAME, _PR_GET_NAME, _PR_SET_VMA = 15, 16, 0x53564D41  # linux/prctl.h
_NEGATIVE: Final = 0x80000000  # all processes, or a group of them
_NEVER: Final = (ArgumentRule(0, 1, 0),)  # no bit of it is 1
_CONTROLS: Final = (  # asm-generic/ioctls.h
    0x5401,  # TCGETS: is it a terminal?
    0x5413,  # TIOCGWINSZ
    0x541B,  # FIONREAD
    0x5421,  # FIONBIO
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
)
_PICTURE: Final = (
    *(
        "read",
        "write",
        "close",
        "fstat",
        "poll",
        "lseek",
        "mmap",
        "mprotect",
        "munmap",
        "brk",
        "mremap",
    ),
    *(
        "rt_sigaction",
        "rt_sigprocmask",
        "rt_sigreturn",
        "sigaltstack",
        "sched_yield",
        "madvise",
        "nanosleep",
    ),
    *(
        "getpid",
        "gettid",
        "tgkill",
        "sendto",
        "recvfrom",
        "exit",
        "exit_group",
        "gettimeofday",
        "getrusage",
    ),
    *(
        "sysinfo",
        "futex",
        "restart_syscall",
        "clock_gettime",
        "clock_nanosleep",
        "ppoll",
        "getrandom",
    ),
    *("membarrier", "rseq"),
)


class ProcessKind(enum.StrEnum):
    """Kinds of processes."""

    PICTURE = "picture"
    WORKER = "worker"
    PUBLISHER = "publisher"
    INTAKE = "intake"
    KEEPER = "keeper"
    EXPORTER = "exporter"
    WRITER = "writer"
    CLUSTER_WRITER = "cluster writer"
    TRAINER = "trainer"
    SITE_TRAINER = "site trainer"
    READER = "reader"
    FINAL_TRAINER = "final trainer"
    SITE_FINAL_TRAINER = "site final trainer"
    FLOWS = "flows"
    FLOW_ASKER = "flow asker"
    EVENT_LOGS = "event logs"
    DESK = "desk"
    CONSOLE = "console"
    METRICS = "metrics"


_HERE: Final = (socket.AF_UNIX,)
_ANYWHERE: Final = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_FAMILIES: Final[dict[ProcessKind, tuple[int, ...]]] = {
    ProcessKind.WORKER: _ANYWHERE,  # clients, the DNS, other engines, a cluster
    ProcessKind.PUBLISHER: _HERE,
    ProcessKind.INTAKE: _ANYWHERE,
    ProcessKind.KEEPER: _ANYWHERE,  # mailboxes, alerts
    ProcessKind.EXPORTER: _HERE,
    ProcessKind.WRITER: _HERE,
    ProcessKind.CLUSTER_WRITER: _ANYWHERE,
    ProcessKind.TRAINER: _HERE,
    ProcessKind.SITE_TRAINER: _ANYWHERE,  # what it believes goes to all machines
    ProcessKind.READER: _HERE,
    ProcessKind.FINAL_TRAINER: _HERE,
    ProcessKind.SITE_FINAL_TRAINER: _ANYWHERE,  # what it trains is all machines'
    ProcessKind.FLOWS: _HERE,
    ProcessKind.FLOW_ASKER: _ANYWHERE,  # ClickHouse
    ProcessKind.EVENT_LOGS: _HERE,
    ProcessKind.DESK: _ANYWHERE,  # mailboxes that a copy is moved in, the DNS of a try
    ProcessKind.CONSOLE: _HERE,  # it is asked on a socket that its parent opened, and asks the desk
    ProcessKind.METRICS: _HERE,  # it is asked on a socket that its parent opened
}
STARTS_PROGRAMS: Final = frozenset(
    {
        ProcessKind.READER,
        ProcessKind.FINAL_TRAINER,
        ProcessKind.SITE_FINAL_TRAINER,
        ProcessKind.FLOWS,
    }
)
_GIVES_FILES: Final = {
    ProcessKind.KEEPER,
    ProcessKind.EXPORTER,
    ProcessKind.DESK,
}  # to whom a mailbox, a table is


def call_grants(kind: ProcessKind, pid: int) -> dict[str, CallGrant]:
    """Return the calls of a kind, by name, each with the forms that it is granted in.

    Args:
        kind: of the process.
        pid: its own.
    """
    if kind is ProcessKind.PICTURE:
        return _plain(_PICTURE) | {
            "tgkill": _own(pid),
            "mmap": _not_executable(),
            "mprotect": _not_executable(),
        }
    granted = _plain(
        system_calls.COMPUTING,
        system_calls.LIVING,
        system_calls.DESCRIPTORS,
        system_calls.FILES,
        system_calls.CONNECTIONS,
    )
    granted["socket"] = CallGrant(
        tuple(ArgumentRule(0, family) for family in _FAMILIES[kind]), errno.EAFNOSUPPORT
    )
    # its flags lie in memory: libraries take clone instead
    granted["clone3"] = CallGrant(_NEVER, errno.ENOSYS)
    if kind in _GIVES_FILES:
        granted |= _plain(system_calls.OWNERS)
    if kind is ProcessKind.DESK:  # a thread of its own, that gives way to mail
        granted["setpriority"] = CallGrant((ArgumentRule(1, 0),))
    if kind in STARTS_PROGRAMS:
        return (
            granted
            | _plain(system_calls.PROGRAMS)
            | {
                "clone": CallGrant((ArgumentRule(0, 0, _NAME_SPACES),)),
                "kill": CallGrant((ArgumentRule(0, 0, _NEGATIVE),)),
            }
        )
    return granted | {
        "clone": CallGrant((ArgumentRule(0, _CLONE_THREAD, _CLONE_THREAD | _NAME_SPACES),)),
        "kill": CallGrant((ArgumentRule(0, pid), ArgumentRule(1, 0))),  # 0: is it there?
        "tgkill": _own(pid),
        "prlimit64": CallGrant((ArgumentRule(0, 0), ArgumentRule(0, pid))),
        "prctl": CallGrant(
            (
                ArgumentRule(0, _PR_SET_NAME),
                ArgumentRule(0, _PR_GET_NAME),
                ArgumentRule(0, _PR_SET_VMA),
            )
        ),
        "ioctl": CallGrant(tuple(ArgumentRule(1, control) for control in _CONTROLS), errno.ENOTTY),
        # as systemd's MemoryDenyWriteExecute
        "mmap": CallGrant((ArgumentRule(2, 0, _PROT_EXEC), ArgumentRule(2, 0, _PROT_WRITE))),
        "mprotect": _not_executable(),
    }


def _plain(*groups: Iterable[str]) -> dict[str, CallGrant]:
    return {name: GRANTED for group in groups for name in group}


def _own(pid: int) -> CallGrant:
    return CallGrant((ArgumentRule(0, pid),))


def _not_executable() -> CallGrant:
    return CallGrant((ArgumentRule(2, 0, _PROT_EXEC),))
