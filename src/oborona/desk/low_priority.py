"""Work of a desk that takes seconds of computing and gives way to mail."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

NICENESS: Final = 15  # the desk itself gives way to mail by 10
_T = TypeVar("_T")


def run_aside(function: Callable[[], _T]) -> _T:
    """Run a function on a thread of its own, behind all other work of the machine; its errors are
    raised here.

    A unit may forbid it: then it competes with all else.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="aside", initializer=_step_back) as thread:
        return thread.submit(function).result()


def _step_back() -> None:
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)  # 0: this thread, which does not come back
