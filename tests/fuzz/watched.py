"""One input given to a target, and what it may cost: 2 s of CPU, 300 MB of memory over what was in use before the first.

CPU rather than the clock on the wall alone: a busy machine is no fault of a parser. Both have to agree, as some virtual machines' accounts of
CPU jump. An input that never ends is the caller's to stop (libFuzzer's -timeout, pytest's).
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Final

from tests.fuzz.targets import Target

CPU_S: Final = 2.0
MEMORY: Final = 300 << 20  # octets
_UNIT: Final = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def most_memory() -> int:
    """Return the most octets of memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


class Watched:
    """A target that fails an input which costs too much."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._before = most_memory()

    def __call__(self, octets: bytes) -> None:
        """Give the target one input.

        Raises:
            AssertionError: what must hold does not, or the input costs too much.
        """
        clock, begun = time.monotonic(), time.process_time()
        self._target.holds(octets)
        spent = min(time.process_time() - begun, time.monotonic() - clock)
        assert spent < CPU_S, f"{spent:.1f} s of CPU"
        grown = most_memory() - self._before
        assert grown < MEMORY, f"{grown >> 20} MB of memory"
