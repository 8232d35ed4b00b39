"""Closes the memory of a process to all other processes of its user: secrets, mail and code in it
can be neither read nor changed through /proc.

Filters of system calls don't, for /proc/PID/mem is opened as any file. Source:
PR_SET_DUMPABLE(2const), proc_pid_mem(5), ptrace(2) on access checks.
"""

from __future__ import annotations

from typing import Final

from oborona.daemon.confinement.prctl import prctl

_PR_SET_DUMPABLE: Final = 4  # linux/prctl.h


def keep_memory_private() -> None:
    """Let nobody without CAP_SYS_PTRACE look into this process, or into those that it forks.

    A program that it starts must do so again.

    Raises:
        OSError: the kernel refuses.
    """
    prctl(_PR_SET_DUMPABLE, 0)
