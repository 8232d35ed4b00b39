"""What a process that decodes strangers' files gives up before it sees the first one.

    at its start    dies with its parent, no core dump, no file grows, few descriptors, OCR behind all other work
    when it is ready    a stated amount of memory more, and no system calls but those that compute and answer:
                        it opens no file and no socket, starts no program, sends no signal

Source: PR_SET_PDEATHSIG(2const), setrlimit(2), seccomp(2) with SECCOMP_SET_MODE_FILTER, linux/filter.h.
Known limits: the filter knows x86-64 and ARM64; elsewhere, or where the kernel has none, the process runs without it and says so.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_SECCOMP_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050001  # with EPERM: a library that asks goes on without
_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_SAME: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER_AT, _MACHINE_AT = 0, 4  # in struct seccomp_data

DESCRIPTORS: Final = 64  # while it starts: modules and Tesseract's data; afterwards it opens nothing
LIFE_CPU_S: Final = 3600  # whoever kills it on time is missing then
_libc: Final = ctypes.CDLL(None, use_errno=True)

_CALLS: Final = {
    # name: x86-64, ARM64; None = not there
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "poll": (7, None),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "exit": (60, 93),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "tgkill": (234, 131),  # how a library aborts
    "ppoll": (271, 73),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "rseq": (334, 293),
}
_MACHINES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column, AUDIT_ARCH_*


def at_start(*, parent: int, niceness: int) -> None:
    """Give up what a process can do without from the first moment on.

    Args:
        parent: whose end is ours.
        niceness: added to ours.

    Raises:
        OSError: the kernel refuses a limit.
        SystemExit: the parent is gone already.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(os.EX_TEMPFAIL)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, DESCRIPTORS),
        (resource.RLIMIT_CPU, LIFE_CPU_S),
    ):
        resource.setrlimit(limit, (most, most))
    with suppress(PermissionError):  # a unit may forbid it: then OCR competes with all else
        os.nice(niceness)


def when_ready(memory_bytes: int) -> bool:
    """Allow so much memory more than there is, and nothing but computing; return whether the kernel filters calls.

    Raises:
        OSError: the kernel refuses the limit.
    """
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    most = pages * resource.getpagesize() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return _filter_calls()


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter_calls() -> bool:
    column, machine = _MACHINES.get(platform.machine(), (0, 0))
    if not machine:
        return False
    numbers = [one[column] for one in _CALLS.values() if one[column] is not None]
    code = [(_LOAD, 0, 0, _MACHINE_AT), (_IF_SAME, 0, len(numbers) + 1, machine), (_LOAD, 0, 0, _NUMBER_AT)]
    code += [
        (_IF_SAME, len(numbers) - place, 0, number or 0) for place, number in enumerate(numbers)
    ]  # each that is known jumps over the refusal
    code += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    packed = b"".join(struct.pack("=HBBI", *each) for each in code)
    program = _Program(len(code), packed)
    refused: int = _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    return not refused


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl({option})")
