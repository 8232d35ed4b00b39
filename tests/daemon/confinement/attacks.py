"""What somebody tries who has taken over a process, as calls of the kernel.

Each line of output is one try and its error number, 0 = it did it.

    attacks.py KIND VICTIM

It confines itself as that kind first, beside a thread that lives by then. Only VICTIM, a process
made for it, is ever aimed at, and no call is given what it would need to do harm: were the filter
broken, the error would be another one, and that is all.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import signal
import sys
import threading

from oborona.daemon.confinement.kinds import ProcessKind, call_grants
from oborona.daemon.confinement.seccomp import install_filter

MACHINE = 0 if platform.machine() == "x86_64" else 1
CALLS = {  # x86-64, ARM64; source: asm/unistd_64.h, asm-generic/unistd.h
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "ptrace": (101, 117),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "execve": (59, 221),
    "execveat": (322, 281),
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "open_tree": (428, 428),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "setuid": (105, 146),
    "setgroups": (116, 159),
    "capset": (126, 91),
    "memfd_create": (319, 279),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "landlock_create_ruleset": (444, 444),
    "map_shadow_stack": (453, 453),
    "a later one": (460 + 100, 460 + 100),
}
PTRACE_ATTACH, PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_MM, PR_SET_SECCOMP = (
    16,
    4,
    0x59616D61,
    35,
    22,
)
AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG = 16, 17, 40, 38
CLONE_NEWUSER, SIGCHLD, TIOCSTI, PR_SET_NAME = 0x10000000, 17, 0x5412, 15

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> int:
    """Make a call; return its error number, 0 if it was made."""
    ctypes.set_errno(0)
    made = libc.syscall(CALLS[name][MACHINE], *arguments)
    return ctypes.get_errno() if made == -1 else 0


def tries(victim: int, handle: int) -> dict[str, int]:
    """Try all; return the errors."""
    room = ctypes.create_string_buffer(256)
    path, words = b"/bin/true", (ctypes.c_char_p * 2)(b"true", None)
    own = os.getpid()
    found = {
        "kill of another": call("kill", victim, signal.SIGTERM),
        "tkill": call("tkill", victim, signal.SIGTERM),
        "tgkill": call("tgkill", victim, victim, signal.SIGTERM),
        "tgkill, upper bits": call(
            "tgkill", ctypes.c_uint64(own << 32 | victim), victim, signal.SIGTERM
        ),
        "rt_sigqueueinfo": call("rt_sigqueueinfo", victim, signal.SIGTERM, room),
        "rt_tgsigqueueinfo": call("rt_tgsigqueueinfo", victim, victim, signal.SIGTERM, room),
        "pidfd_open": call("pidfd_open", victim, 0),
        "pidfd_send_signal": call("pidfd_send_signal", handle, signal.SIGTERM, None, 0),
        "pidfd_getfd": call("pidfd_getfd", handle, 0, 0),
        "process_vm_readv": call("process_vm_readv", victim, room, 1, room, 1, 0),
        "process_vm_writev": call("process_vm_writev", victim, room, 1, room, 1, 0),
        "process_madvise": call("process_madvise", handle, room, 1, 4, 0),
        "ptrace": call("ptrace", PTRACE_ATTACH, victim, None, None),
        "prctl dumpable": call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0),
        "prctl ptracer": call("prctl", PR_SET_PTRACER, -1, 0, 0, 0),
        "prctl mm": call("prctl", PR_SET_MM, 1, 0, 0, 0),
        "prctl seccomp": call("prctl", PR_SET_SECCOMP, 0, 0, 0, 0),
        "prlimit64 of another": call("prlimit64", victim, 7, room, None),
        "execve": call("execve", path, words, None),
        "execveat": call("execveat", -100, path, words, None, 0),
        "fork": _forked(SIGCHLD),
        "user name space": _forked(CLONE_NEWUSER | SIGCHLD),
        "clone3": call("clone3", room, 88),
        "unshare": call("unshare", CLONE_NEWUSER),
        "setns": call("setns", handle, 0),
        "mount": call("mount", None, None, None, 0, None),
        "pivot_root": call("pivot_root", None, None),
        "chroot": call("chroot", None),
        "memory to be run": _mapped(7),
        **{
            name: call(name, 0, 0, 0, 0, 0)
            for name in (
                *(
                    "open_tree",
                    "bpf",
                    "perf_event_open",
                    "userfaultfd",
                    "io_uring_setup",
                    "keyctl",
                    "add_key",
                ),
                *(
                    "init_module",
                    "finit_module",
                    "kexec_load",
                    "reboot",
                    "setuid",
                    "setgroups",
                    "capset",
                ),
                *("memfd_create", "name_to_handle_at", "open_by_handle_at", "quotactl", "syslog"),
                *("settimeofday", "landlock_create_ruleset", "map_shadow_stack", "a later one"),
            )
        },
        **{
            f"socket of family {family}": _socket(family)
            for family in (AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG)
        },
        "words for a terminal": _control(TIOCSTI),
    }
    # ... and what it may
    return found | {"may: tgkill of itself": call("tgkill", own, threading.get_native_id(), 0)}


def _forked(flags: int) -> int:
    own = os.getpid()
    error = call("clone", flags, 0, 0, 0, 0)
    if os.getpid() != own:
        os._exit(0)
    return error


def _mapped(protection: int) -> int:
    try:
        mmap.mmap(-1, 4096, prot=protection).close()
    except OSError as error:
        return error.errno or -1
    return 0


def _socket(family: int) -> int:
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.socket(family, 3, 0) == -1 else 0


def _control(number: int) -> int:
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.ioctl(0, number, b"x") == -1 else 0


def main() -> None:
    kind, victim = ProcessKind(sys.argv[1]), int(sys.argv[2])
    handle = os.pidfd_open(victim)
    go, done = threading.Event(), list[int]()

    def late() -> None:
        go.wait()
        done.append(call("tgkill", victim, victim, signal.SIGTERM))

    early = threading.Thread(target=late)
    early.start()
    install_filter(call_grants(kind, os.getpid()))
    go.set()
    early.join()
    found = tries(victim, handle) | {"tgkill by a thread that lived before": done[0]}
    sys.stdout.write("".join(f"{name}\t{error}\n" for name, error in found.items()))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
