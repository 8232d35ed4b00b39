"""Work of a desk that takes seconds of computing and gives way to mail."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from oborona.daemon.confinement.priority import step_back

NICENESS: Final = 15  # the desk itself gives way to mail by 10
_T = TypeVar("_T")


def run_aside(function: Callable[[], _T]) -> _T:
    """Run a function on a thread of its own, behind all other work of the machine; its errors are
    raised here.

    A unit may forbid it: then it competes with all else.
    """
    with ThreadPoolExecutor(
        1, thread_name_prefix="aside", initializer=partial(step_back, NICENESS)
    ) as thread:
        return thread.submit(function).result()
