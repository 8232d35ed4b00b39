"""One input given to a target, and what it may cost: CPU by its size, at most 2 s, and 300 MB of
memory over what was in use before it.

By its size: what takes the square of it shows at 16 kB, long before it takes seconds. What seems
too dear is tried again, as the first time something may have been loaded or compiled for all that
follow.

CPU rather than the clock on the wall alone: a busy machine is no fault of a parser. Both have to
agree, as some virtual machines' accounts of CPU jump. An input that never ends is the caller's to
stop (libFuzzer's -timeout, pytest's). The mark of the most memory is set back before each input
(Linux, proc(5)): what a fuzzer keeps itself is no input's doing.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

from tests.fuzz.targets import Target

CPU_S: Final = 2.0
# whatever the size: what a target does for any input, and what a collection of garbage takes
START_S: Final = 0.1
AGAIN: Final = 2  # times that what is too dear is tried again
MEMORY: Final = 300 << 20  # octets
_SET_BACK: Final = b"5"  # what makes the most memory so far that of this moment
_MOST: Final = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def most_memory(*, anew: bool = False) -> int:
    """Return the most octets of memory that this process had since it was asked to count `anew`."""
    if anew:
        Path("/proc/self/clear_refs").write_bytes(_SET_BACK)
    found = _MOST.search(Path("/proc/self/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) << 10


class Watched:
    """A target that fails an input which costs too much."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __call__(self, octets: bytes) -> None:
        """Give the target one input.

        Raises:
            AssertionError: what must hold does not, or the input costs too much.
        """
        before = most_memory(anew=True)
        spent = self._spent(octets)
        grown = most_memory() - before
        bound = min(CPU_S, START_S + self._target.s_a_mb * len(octets) / 1e6)
        for _ in range(AGAIN):
            if spent < bound or spent > CPU_S:
                break
            spent = min(spent, self._spent(octets))
        assert spent < bound, f"{spent:.2f} s of CPU for {len(octets)} octets, at most {bound:.2f}"
        assert grown < MEMORY, f"{grown >> 20} MB of memory"

    def _spent(self, octets: bytes) -> float:
        clock, begun = time.monotonic(), time.process_time()
        self._target.holds(octets)
        return min(time.process_time() - begun, time.monotonic() - clock)
