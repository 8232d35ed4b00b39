"""What a process that decodes strangers' files gives up before it sees the first one.

    at its start    dies with its parent, shows its memory to nobody, no core dump, no file grows,
                    few descriptors, OCR behind all other work
    when it is ready    a stated amount of memory more, and no system calls but those that compute
                        and answer: it opens no file and no socket, starts no program, signals no
                        process but itself (`oborona.daemon.confinement`)

Source: PR_SET_PDEATHSIG(2const), setrlimit(2).
"""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import Final

from oborona.daemon.confinement.kinds import ProcessKind, call_grants
from oborona.daemon.confinement.memory import keep_memory_private
from oborona.daemon.confinement.prctl import prctl
from oborona.daemon.confinement.priority import step_back
from oborona.daemon.confinement.seccomp import SeccompUnavailable, install_filter

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_PR_SET_NO_NEW_PRIVS: Final = 38

# while it starts: modules and Tesseract's data; afterwards it opens nothing
DESCRIPTORS: Final = 64
LIFE_CPU_S: Final = 3600  # whoever kills it on time is missing then


def confine_at_start(*, parent: int, niceness: int) -> None:
    """Give up what a process can do without from the first moment on.

    Args:
        parent: whose end is ours.
        niceness: added to ours.

    Raises:
        OSError: the kernel refuses a limit.
        SystemExit: the parent is gone already.
    """
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(os.EX_TEMPFAIL)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    keep_memory_private()
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, DESCRIPTORS),
        (resource.RLIMIT_CPU, LIFE_CPU_S),
    ):
        resource.setrlimit(limit, (most, most))
    step_back(os.getpriority(os.PRIO_PROCESS, 0) + niceness)


def confine_when_ready(memory_bytes: int) -> str:
    """Allow so much memory more than there is, and nothing but computing.

    Return why the kernel filters no calls, empty if it does.

    Raises:
        OSError: the kernel refuses the limit.
    """
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    most = pages * resource.getpagesize() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        install_filter(call_grants(ProcessKind.PICTURE, os.getpid()))
    except SeccompUnavailable as error:
        return str(error)
    return ""
