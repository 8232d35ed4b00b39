"""How a process ended, and when it is started again.

One that never served is started again at once the first time, then after 0.5 s, 1, 2, 4, 8, 16, and
from then on every 30 s: it can't be started, and trying harder does not help.  One that had served
can be: its death says nothing of the next start, so it is started again at once, and no oftener
than once in `PACE_S`, or `PACE_BESIDE_S` where mail does not wait for it.  Of those that mail waits
for none waits longer than `ALONE_S` while no other serves.

So a service with any number of workers, whatever they die of and whenever, has one that is being
started no later than `ALONE_S` after the last death.
"""

from __future__ import annotations

import os
import signal
from typing import Final

FIRST_DELAY_S: Final = 0.5
MAX_DELAY_S: Final = 30.0  # what a mail server waits for us at most, with its own default time-out
PACE_S: Final = 1.0  # from one start to the next of a process that serves and dies
PACE_BESIDE_S: Final = 5.0  # a processor is for mail, not for what dies again and again beside it
ALONE_S: Final = 1.0  # from a death to the next start, while nobody else does its work


def fruitless_in_row(before: int, *, served: bool) -> int:
    """Return how often in a row it has died without having served, with this death."""
    return 0 if served else before + 1


def restart_delay_s(
    fruitless: int, lived_s: float, *, alone: bool, pace_s: float = PACE_S
) -> float:
    """Return how long to wait from a death to the next start, in seconds.

    Args:
        fruitless: deaths in a row without having served; 0 = it served.
        lived_s: seconds from its start to its death.
        alone: mail waits for it, and nobody else serves who does its work.
        pace_s: from one start to the next at least, of one that serves and dies.
    """
    if fruitless == 0:
        delay_s = max(0.0, pace_s - lived_s)
    elif fruitless == 1:
        delay_s = 0.0
    else:
        doublings = min(fruitless - 2, 10)  # far over the limit, and no number grows without end
        delay_s = min(MAX_DELAY_S, FIRST_DELAY_S * 2.0**doublings)
    return min(delay_s, ALONE_S) if alone else delay_s


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
