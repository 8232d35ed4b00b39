"""What one message computes: CPU of the loop's thread while it is its turn, and nothing that others compute between its turns.

The clock of a thread's CPU is a system call, the wall's is none; and no turn computes for longer than it lasts.  So the dear one is read once a turn, and again only where
the turn was long.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine, Generator
from typing import Any, Final, Generic, TypeVar

from oborona.policy.budget import OverBudgetError

SHORT_S: Final = 0.005  # a turn that was no longer is taken for CPU whole

T = TypeVar("T")


class Meter:
    """A `Budget` in CPU seconds; `await meter.run(...)` measures a coroutine, without the tasks that it starts.

    Args:
        limit_s: that may be computed.
    """

    __slots__ = ("_began", "_cpu", "_limit_s", "_until", "spent_s")

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._until = limit_s
        self._began = time.monotonic()  # the turn at hand
        self._cpu = time.thread_time()  # then
        self.spent_s = 0.0  # in the turns before

    def check(self) -> None:
        """Return at once where something is left.

        Raises:
            OverBudgetError: nothing is.
        """
        left_s = self._until - self.spent_s
        if time.monotonic() - self._began > left_s and time.thread_time() - self._cpu > left_s:
            raise OverBudgetError(f"over {self._limit_s:g} s of CPU")

    def again(self) -> None:
        """Allow the same once more, from here on."""
        self._until = self.spent_s + time.thread_time() - self._cpu + self._limit_s

    def run(self, work: Coroutine[Any, Any, T]) -> _Measured[T]:
        """Return the work, to be awaited, with its turns measured."""
        return _Measured(self, work)

    def begin(self) -> None:
        """A turn begins."""
        self._cpu = time.thread_time()
        self._began = time.monotonic()

    def end(self) -> None:
        """It ends."""
        lasted_s = time.monotonic() - self._began
        self.spent_s += lasted_s if lasted_s < SHORT_S else time.thread_time() - self._cpu


class _Measured(Generic[T]):
    """A coroutine that is driven turn by turn."""

    __slots__ = ("_meter", "_work")

    def __init__(self, meter: Meter, work: Coroutine[Any, Any, T]) -> None:
        self._meter = meter
        self._work = work

    def __await__(self) -> Generator[Any, None, T]:
        meter, work = self._meter, self._work
        error: BaseException | None = None
        while True:
            meter.begin()
            try:
                waits_for = work.send(None) if error is None else work.throw(error)
            except StopIteration as done:
                result: T = done.value
                return result
            finally:
                meter.end()
            error = None
            try:
                yield waits_for
            except GeneratorExit:
                work.close()
                raise
            except BaseException as raised:  # noqa: BLE001 - a cancellation, too, is the work's to hear of
                error = raised
