"""What `ps` calls a process of ours: all are forked from one, and would all bear its command line.

The new words go where the kernel keeps the command line, which is memory of the process itself, and
never past its end; the name of top(1) goes by prctl. Where the place can't be told, the command
line stays.

Source: proc_pid_stat(5) (fields 48 and 49), proc_pid_cmdline(5), PR_SET_NAME(2const).
Limits: no longer than the command line was; Linux only.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Final

from oborona.daemon.confinement.prctl import prctl

_PR_SET_NAME: Final = 15  # linux/prctl.h; the kernel keeps 15 bytes
_ARG_START: Final = 48 - 3  # of the fields behind the name, which may hold spaces
_ARG_END: Final = 49 - 3


def set_process_title(words: str) -> None:
    """Have `ps` show these words for this process; never raises.

    Args:
        words: ASCII, such as "oborona: worker 1".
    """
    octets = words.encode("ascii", "replace")
    try:
        prctl(_PR_SET_NAME, octets[:15])
        fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    except (OSError, ValueError, IndexError):
        return
    room = (
        end - start - 1
    )  # its last byte stays NUL: the kernel would take another as a title that goes on behind
    if start and room > 0:
        ctypes.memmove(start, octets[:room].ljust(room, b"\0"), room)
