"""The loop of a process that writes counters: steps and chores until it is asked to stop.

Nothing ends it but that.

An error is reported once and tried again each second; a store of a newer Oborona ends the process,
for trying again would not help.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from oborona.errors import StoreError, StoreVersion

INTERVAL_S: Final = 0.05
RETRY_S: Final = 1.0  # after an error
# between two steps once nothing has come for a while: what comes then waits so much longer
IDLE_S: Final = 1.0
AWAKE_S: Final = 3.0  # that nothing must have come for
LAST_STEPS: Final = 100  # when stopping: the spools of stopped workers are empty long before


class StopEvent(Protocol):
    """What `threading.Event` is: asks `run` to end."""

    def is_set(self) -> bool: ...
    def wait(self, timeout: float, /) -> object: ...


class SpoolConsumer(Protocol):
    """What brings the workers' spools into a store."""

    @property
    def behind(self) -> bool:
        """Whether the last step left something in the spools that it could have taken."""
        ...

    def step(self, now: float) -> int:
        """Bring what is new into the store; return how many records of spools that were."""
        ...

    def chores(self, now: float, monotonic: float) -> None:
        """Do what is due beside steps, a little at a time."""
        ...

    def keep_top(self) -> None:
        """Write down which keys are the heaviest, if that has changed."""
        ...


def run(
    writer: SpoolConsumer,
    stop: StopEvent,
    interval_s: float,
    clock: Callable[[], float],
    report: Callable[[str], None],
) -> None:
    """Step until `stop` is set, then bring in what is left.

    Args:
        writer: to be driven.
        stop: asked before each step, waited for after it.
        interval_s: seconds between two steps that found nothing left, while counts come.
        clock: gives Unix seconds.
        report: told, in words for an admin, when counting stands still, and when it goes on.

    Raises:
        StoreVersion: a newer Oborona has taken the store over.
    """
    failed, came_at = "", time.monotonic()
    while not stop.is_set():
        pause = interval_s
        try:
            if writer.step(clock()):
                came_at = time.monotonic()
            elif time.monotonic() - came_at >= AWAKE_S:
                pause = max(interval_s, IDLE_S)
            writer.chores(clock(), time.monotonic())
            if writer.behind:
                pause = 0.0
            if failed:
                report("counting goes on")
                failed = ""
        except StoreVersion:
            raise
        except StoreError as error:
            if str(error) != failed:
                report(f"counting stands still: {error}")
                failed = str(error)
            pause = RETRY_S
        stop.wait(pause)
    try:
        for _ in range(LAST_STEPS):
            if not writer.step(clock()):
                break
    except StoreError as error:
        report(f"what is left in the spools waits for the next start: {error}")
    try:
        writer.keep_top()
    except StoreError as error:
        report(f"the heaviest keys of the last half minute are not written down: {error}")
