"""The program by which the kernel decides over each system call of a process: made of rules, and
put in force for good.

    another machine's calls → EPERM
    a call that is granted → done, if its arguments fit one of the forms that it is granted in
    any other → EPERM, which libraries take for "not allowed here" and go on; a call newer than we
    know → ENOSYS, "not there",
                upon which they use the older one

The number of a call is looked for by halving, so that a long list costs what a short one does; and
the kernel keeps the answer for calls whose arguments do not matter (Linux 5.11), which then cost
nothing.

Source: seccomp(2), PR_SET_SECCOMP(2const), linux/filter.h, linux/seccomp.h.
Known limits: x86-64 and ARM64, little-endian; elsewhere nothing is filtered, and the caller is
told.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from oborona.daemon.confinement.system_calls import LAST_KNOWN, NUMBERS

_PR_SET_NO_NEW_PRIVS: Final = 38  # linux/prctl.h
_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2  # linux/seccomp.h
_SET_MODE_FILTER: Final = 1
_ALL_THREADS: Final = 1  # SECCOMP_FILTER_FLAG_TSYNC
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000  # with an error number in its low bits
_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
_JUMP: Final = 0x05  # BPF_JMP | BPF_JA
_IF_SAME: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data; an argument has 8 bytes
_FARTHEST: Final = 255  # instructions that a jump passes over
# calls of x86-64's other ABI, which has the same machine: newer than any we know
_X32: Final = 0x40000000
_MACHINES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column, AUDIT_ARCH_*
_SECCOMP: Final = (317, 277)  # its own number

_Code = list[tuple[int, int, int, int]]  # operation, jump if so, jump if not, operand


class ArgumentRule(NamedTuple):
    """What one argument of a call must be: the bits under a mask have a value.

    The upper 32 bits are not looked at.
    """

    argument: int  # 0 to 5
    value: int
    mask: int = 0xFFFFFFFF


class CallGrant(NamedTuple):
    """In which forms a call is granted."""

    forms: tuple[ArgumentRule, ...] = ()  # any one of them; none = however it is called
    otherwise: int = errno.EPERM  # the error where no form fits


GRANTED: Final = CallGrant()


class SeccompUnavailable(Exception):  # noqa: N818 - reads as what happened
    """The kernel filters no calls for us; the text says why."""


def install_filter(grants: Mapping[str, CallGrant]) -> None:
    """Filter all further calls of this process, in all its threads, and of what it starts.

    There is no way back.

    Args:
        grants: by the name of a call, as in `NUMBERS`.

    Raises:
        NotFiltered: nothing is filtered.
    """
    column_and_machine = _MACHINES.get(platform.machine())
    if column_and_machine is None:
        raise SeccompUnavailable(f"not known for {platform.machine()}")
    column, machine = column_and_machine
    code = filter_program(grants, column, machine)
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise SeccompUnavailable(f"no_new_privs: {os.strerror(ctypes.get_errno())}")
    at = ctypes.byref(_Program(len(code), packed))
    failed = libc.syscall(_SECCOMP[column], _SET_MODE_FILTER, _ALL_THREADS, at)
    if (
        failed < 0 and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1
    ):  # a unit may grant the older way alone
        failed = libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, at, 0, 0)
    if failed:  # > 0: a thread that has filters of its own
        raise SeccompUnavailable(
            os.strerror(ctypes.get_errno()) if failed < 0 else f"thread {failed} is filtered"
        )


def filter_program(grants: Mapping[str, CallGrant], column: int, machine: int) -> _Code:
    """Return the instructions for a machine.

    Args:
        grants: by the name of a call.
        column: of the machine in `NUMBERS`.
        machine: its AUDIT_ARCH.
    """
    numbered = {
        number: grant
        for name, grant in grants.items()
        if (number := NUMBERS[name][column]) is not None
    }
    starts: list[tuple[int, _Code]] = []  # from this number on the same is to be done
    for number in range(LAST_KNOWN + 1):
        leaf = _leaf(numbered.get(number))
        if not starts or starts[-1][1] != leaf:
            starts.append((number, leaf))
    starts.append((LAST_KNOWN + 1, _refusal(errno.ENOSYS)))
    starts.append((_X32, _refusal(errno.EPERM)))
    return [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_IF_SAME, 1, 0, machine),
        *_refusal(errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_AT),
        *_halved(starts),
    ]


def _halved(starts: Sequence[tuple[int, _Code]]) -> _Code:
    if len(starts) == 1:
        return starts[0][1]
    middle = len(starts) // 2
    below, above = _halved(starts[:middle]), _halved(starts[middle:])
    if len(below) > _FARTHEST:  # a plain jump reaches any place
        return [(_IF_AT_LEAST, 0, 1, starts[middle][0]), (_JUMP, 0, 0, len(below)), *below, *above]
    return [(_IF_AT_LEAST, len(below), 0, starts[middle][0]), *below, *above]


def _leaf(grant: CallGrant | None) -> _Code:
    if grant is None:
        return _refusal(errno.EPERM)
    if not grant.forms:
        return [(_RETURN, 0, 0, _ALLOW)]
    code: _Code = []
    for form in grant.forms:
        code.append((_LOAD, 0, 0, _ARGUMENTS_AT + 8 * form.argument))
        if form.mask != 0xFFFFFFFF:
            code.append((_AND, 0, 0, form.mask))
        code += [(_IF_SAME, 0, 1, form.value & 0xFFFFFFFF), (_RETURN, 0, 0, _ALLOW)]
    return [*code, *_refusal(grant.otherwise)]


def _refusal(error: int) -> _Code:
    return [(_RETURN, 0, 0, _REFUSE | error)]


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))
