"""What each kind is granted, on both machines, asked of the programs themselves.

And that the numbers are the kernel's.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import socket

import pytest

from oborona.daemon.confinement.kinds import STARTS_PROGRAMS, ProcessKind, call_grants
from oborona.daemon.confinement.seccomp import filter_program
from oborona.daemon.confinement.system_calls import LAST_KNOWN, NUMBERS
from tests.daemon.confinement.attacks import CALLS
from tests.daemon.confinement.machine import answer

OWN, OTHER = 4711, 4712
MACHINES = [(0, 0xC000003E), (1, 0xC00000B7)]  # column, AUDIT_ARCH_*
SERVING = [kind for kind in ProcessKind if kind not in {ProcessKind.PICTURE, *STARTS_PROGRAMS}]
CLONE_THREAD, CLONE_VM, CLONE_NEWUSER, CLONE_NEWNET = 0x10000, 0x100, 0x10000000, 0x40000000

pytestmark = pytest.mark.parametrize("machine", MACHINES, ids=["x86-64", "arm64"])


def asked(kind: ProcessKind, machine: tuple[int, int], name: str, *arguments: int) -> int:
    number = NUMBERS[name][machine[0]] if name in NUMBERS else CALLS[name][machine[0]]
    assert number is not None
    return answer(filter_program(call_grants(kind, OWN), *machine), machine[1], number, arguments)


@pytest.mark.parametrize("kind", ProcessKind)
def test_all_calls_get_the_answer_of_the_list(kind: ProcessKind, machine: tuple[int, int]) -> None:
    column, architecture = machine
    code, listed = filter_program(call_grants(kind, OWN), *machine), call_grants(kind, OWN)
    assert len(code) < 4096, "BPF_MAXINSNS"
    names = {numbers[column]: name for name, numbers in NUMBERS.items()}
    for number in range(LAST_KNOWN + 1):
        found = answer(code, architecture, number, [0xFFFFFFFF] * 6)
        grant = listed.get(names.get(number, ""))
        if grant is None:
            assert found == errno.EPERM, number
        elif not grant.forms:
            assert found == 0, number
    for number in (LAST_KNOWN + 1, 1000, 0x3FFFFFFF):
        assert answer(code, architecture, number) == errno.ENOSYS
    for number in (0x40000000, 0x40000001, 0x80000000, 0xFFFFFFFF):
        assert answer(code, architecture, number) == errno.EPERM


@pytest.mark.parametrize("kind", ProcessKind)
def test_calls_of_another_machine_are_refused(kind: ProcessKind, machine: tuple[int, int]) -> None:
    for other in (0x40000003, 0x40000028, *({0xC000003E, 0xC00000B7} - {machine[1]})):  # i386, ARM
        for number in range(LAST_KNOWN + 2):
            assert (
                answer(filter_program(call_grants(kind, OWN), *machine), other, number)
                == errno.EPERM
            )


@pytest.mark.parametrize("kind", [*SERVING, ProcessKind.PICTURE])
def test_signals_reach_the_process_itself_alone(
    kind: ProcessKind, machine: tuple[int, int]
) -> None:
    everybody = (OTHER, 0, 1, (1 << 32) - 1, (1 << 32) - OWN, OWN << 32 | OTHER)
    for pid in everybody:
        assert asked(kind, machine, "tgkill", pid, pid, signal.SIGTERM) == errno.EPERM
        assert asked(kind, machine, "kill", pid, signal.SIGTERM) == errno.EPERM
    assert asked(kind, machine, "tgkill", OWN, OWN + 1, signal.SIGABRT) == 0
    if kind is not ProcessKind.PICTURE:
        assert asked(kind, machine, "kill", OWN, signal.SIGTERM) == 0
        assert asked(kind, machine, "kill", OTHER, 0) == 0, "is it there?"


def test_the_desk_puts_threads_of_its_own_behind_and_no_other_process(
    machine: tuple[int, int],
) -> None:
    assert asked(ProcessKind.DESK, machine, "setpriority", os.PRIO_PROCESS, 0, 10) == 0
    assert asked(ProcessKind.DESK, machine, "setpriority", os.PRIO_PROCESS, OTHER, 10) != 0


def test_the_reader_signals_no_group_and_not_all(machine: tuple[int, int]) -> None:
    assert asked(ProcessKind.READER, machine, "kill", OTHER, signal.SIGKILL) == 0
    for pid in (-1, -OTHER):
        assert (
            asked(ProcessKind.READER, machine, "kill", pid & (1 << 32) - 1, signal.SIGKILL)
            == errno.EPERM
        )


@pytest.mark.parametrize("kind", SERVING)
def test_threads_are_started_and_no_processes(kind: ProcessKind, machine: tuple[int, int]) -> None:
    assert asked(kind, machine, "clone", CLONE_VM | CLONE_THREAD) == 0
    for flags in (
        signal.SIGCHLD,
        CLONE_VM,
        CLONE_THREAD | CLONE_NEWUSER,
        CLONE_THREAD | CLONE_NEWNET,
    ):
        assert asked(kind, machine, "clone", flags) == errno.EPERM
    assert asked(kind, machine, "clone3", 1, 2) == errno.ENOSYS, "libraries take clone instead"
    assert asked(ProcessKind.READER, machine, "clone", signal.SIGCHLD) == 0
    assert (
        asked(ProcessKind.READER, machine, "clone", signal.SIGCHLD | CLONE_NEWUSER) == errno.EPERM
    )


@pytest.mark.parametrize("kind", [kind for kind in ProcessKind if kind not in STARTS_PROGRAMS])
def test_no_memory_becomes_executable_that_was_written(
    kind: ProcessKind, machine: tuple[int, int]
) -> None:
    assert asked(kind, machine, "mmap", 0, 4096, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    assert asked(kind, machine, "mmap", 0, 4096, mmap.PROT_WRITE | mmap.PROT_EXEC) == errno.EPERM
    assert asked(kind, machine, "mprotect", 0, 4096, mmap.PROT_READ) == 0
    assert asked(kind, machine, "mprotect", 0, 4096, mmap.PROT_READ | mmap.PROT_EXEC) == errno.EPERM


def test_connections_are_of_the_families_that_a_kind_needs(machine: tuple[int, int]) -> None:
    for kind in (*SERVING, *STARTS_PROGRAMS):
        assert asked(kind, machine, "socket", socket.AF_UNIX) == 0
        far = (
            0
            if kind
            in (
                ProcessKind.WORKER,
                ProcessKind.INTAKE,
                ProcessKind.KEEPER,
                ProcessKind.CLUSTER_WRITER,
                ProcessKind.SITE_TRAINER,
                ProcessKind.SITE_FINAL_TRAINER,
                ProcessKind.FLOW_ASKER,
                ProcessKind.DESK,
            )
            else errno.EAFNOSUPPORT
        )
        assert asked(kind, machine, "socket", socket.AF_INET) == far
        assert asked(kind, machine, "socket", socket.AF_INET6) == far
        for family in (socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, socket.AF_ALG):
            assert asked(kind, machine, "socket", family) == errno.EAFNOSUPPORT
    assert asked(ProcessKind.PICTURE, machine, "socket", socket.AF_UNIX) == errno.EPERM


def test_the_numbers_are_the_kernels(machine: tuple[int, int]) -> None:
    try:
        seccomp = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("needs libseccomp")
    column, architecture = machine
    for table in (NUMBERS, CALLS):
        for name, numbers in table.items():
            found = seccomp.seccomp_syscall_resolve_name_arch(
                ctypes.c_uint32(architecture), name.encode()
            )
            if found >= 0 or numbers[column] is None:
                assert (found if found >= 0 else None) == numbers[column], name
