"""How a process ended, and when it is started again.

At once the first time; if it dies again before it has lived `STEADY_S`, after 0.5 s, then 1, 2, 4, 8, 16, and from
then on every 30 s. One that lived longer starts from the beginning: its death says nothing of the next.
"""

from __future__ import annotations

import os
import signal
from typing import Final

FIRST_DELAY_S: Final = 0.5
MAX_DELAY_S: Final = 30.0  # what a mail server waits for us at most, with its own default time-out
STEADY_S: Final = 60.0  # twice the longest delay: whatever fails later is no loop worth slowing down


def deaths_in_row(before: int, lived_s: float) -> int:
    """Return the count with a death added to `before` quick ones: 1 when the process had lived `STEADY_S`."""
    return 1 if lived_s >= STEADY_S else before + 1


def restart_delay_s(deaths: int) -> float:
    """Return how long to wait after so many deaths in a row: 0, 0.5, 1, 2, 4, 8, 16, 30, 30, ... seconds."""
    if deaths <= 1:
        return 0.0
    doublings = min(deaths - 2, 10)  # far over the limit, and no number grows without end
    return min(MAX_DELAY_S, FIRST_DELAY_S * 2.0**doublings)


def how_it_ended(status: int) -> str:
    """Return a wait status in words: exited with status 3, was killed by SIGSEGV, core dumped."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exited with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    return f"was killed by {name}{', core dumped' if os.WCOREDUMP(status) else ''}"
