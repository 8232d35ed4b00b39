"""Runs a program under a unit's own limits:  confined.py UNIT PROGRAM [ARGUMENT...]

As the service manager would: no capability, no new privileges, no memory both written and executed,
the unit's niceness and system calls. A call outside them kills here (the unit answers EPERM), so
that none goes unseen. Its name spaces and folders are not made.
"""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

ALLOW, EPERM, KILL_PROCESS = 0x7FFF0000, 0x00050001, 0x80000000  # seccomp.h: SCMP_ACT_*
REFUSED = {
    "mbind",  # numpy's OpenBLAS would like its memory near its core, and lives without
    "seccomp",  # a process that gives up more takes prctl(2), which does for one thread
    # SQLite gives its files to the database's owner, as root alone; so are tests, the service is
    # not
    "fchown",
}
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1  # linux/prctl.h; Linux 6.3


def expand(group: str) -> set[str]:
    """Return the system calls that a group such as @chown stands for."""
    listed = subprocess.run(
        ["systemd-analyze", "--no-pager", "syscall-filter", group],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = re.findall(r"^ +(@?\w[\w-]*)$", listed, re.MULTILINE)
    return set().union(*(expand(name) if name.startswith("@") else {name} for name in names))


def system_calls(unit: Path) -> set[str]:
    """Return what a unit allows; later lines win. Source: systemd.exec(5), SystemCallFilter."""
    allowed: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit.read_text(), re.MULTILINE):
        calls = set().union(
            *(expand(word) if word.startswith("@") else {word} for word in line.strip("~").split())
        )
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed | {"execve"}  # the manager adds it for ExecStart


def confine(unit: Path) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)  # an older kernel runs without it
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(KILL_PROCESS)))
    allowed = system_calls(unit)
    for name in allowed | REFUSED:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # else another architecture's
            action = ALLOW if name in allowed else EPERM
            assert seccomp.seccomp_rule_add(context, ctypes.c_uint32(action), number, 0) == 0, name
    assert seccomp.seccomp_load(context) == 0


def step_back(unit: Path) -> None:
    """Source: systemd.exec(5), Nice."""
    for niceness in re.findall(r"^Nice=(\d+)$", unit.read_text(), re.MULTILINE):
        os.setpriority(os.PRIO_PROCESS, 0, int(niceness))


if __name__ == "__main__":
    step_back(Path(sys.argv[1]))
    confine(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
