"""Giving way to what mail waits for, by the scheduler's niceness."""

from __future__ import annotations

import os
from contextlib import suppress


def step_back(niceness: int) -> None:
    """Have whoever else wants to run go before this thread, and what it starts from now on.

    A unit may forbid it: then it competes with all else.

    Args:
        niceness: that it has at least afterwards; never less than before, and never comes back.

    Source: setpriority(2), of a thread on Linux; nice(2).
    """
    if os.getpriority(os.PRIO_PROCESS, 0) >= niceness:
        return  # a unit that sets it need not grant the call
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
