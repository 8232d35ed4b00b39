"""Asks the kernel for properties of this process, as prctl(2) does."""

from __future__ import annotations

import ctypes
import os
from typing import Final

_libc: Final = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int | bytes) -> None:
    """Set a property of this process.

    Args:
        option: its number in linux/prctl.h.
        value: of its first argument; bytes are handed over as a C string.

    Raises:
        OSError: the kernel refuses, with its error number.
    """
    if _libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
