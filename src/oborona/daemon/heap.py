"""The heap of C libraries, which has Python's large objects, too: what was freed goes back to the
system.

What loading leaves behind lies between what stays, and glibc keeps it; before a fork each process
to come would have it.  Source: mallopt(3), malloc_trim(3); other C libraries have neither.
"""

from __future__ import annotations

import ctypes
from typing import Final

_M_ARENA_MAX: Final = -8  # malloc.h
_libc: Final = ctypes.CDLL(None)


def trim_heap() -> None:
    """Give back what is free; milliseconds, while nothing else runs."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


def use_one_heap() -> None:
    """Let all threads of this process, and of those forked from it, share one heap.

    One each, as glibc has it, keeps apart what helpers free that run now and then.
    """
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 1)
