"""What was counted between two looks at a process, and into which times it falls: arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

MOST_SPREAD_S: Final = 86_400.0  # what was counted unseen for longer is of its last day
_STEP: Final = 1000  # in a second: times are compared as whole numbers


class ProcessCount(msgspec.Struct, frozen=True, kw_only=True):
    """What a process has counted since it began."""

    pid: int
    time: float  # Unix seconds
    counts: dict[str, int] = {}  # by series


def differences(before: ProcessCount | None, now: ProcessCount) -> dict[str, int]:
    """Return what was counted since the look before, by series; only what is more than nothing.

    A process that has begun anew is told by its id, or by a number that is smaller than it was: the
    difference is then the number.
    """
    known: Mapping[str, int] = {}
    if before is not None and before.pid == now.pid:
        known = before.counts
    if any(count < known.get(name, 0) for name, count in now.counts.items()):
        known = {}
    return {
        name: count - known.get(name, 0)
        for name, count in now.counts.items()
        if count > known.get(name, 0)
    }


def counted_since(before: ProcessCount | None, now: ProcessCount, quiet_at: float) -> float:
    """Return from when on what is new was counted, Unix seconds.

    Args:
        before: the look before; None = there was none.
        now: this one.
        quiet_at: until when nothing had been counted, as far as is known.
    """
    if before is None or before.pid != now.pid:
        return now.time
    return min(now.time, max(before.time, quiet_at, now.time - MOST_SPREAD_S))


def spread(count: int, since: float, until: float, width_s: int) -> Iterator[tuple[int, int]]:
    """Yield into which times a count falls that was made evenly between two moments.

    Guaranteed: the parts are positive, in order of time, and their sum is the count.

    Args:
        count: of things.
        since: Unix seconds.
        until: not before it.
        width_s: of a time, seconds.

    Yields:
        The number of the time since 1970, and how many fall into it.
    """
    first, last, width = int(since * _STEP), int(until * _STEP), width_s * _STEP
    given = 0
    for bucket in range(first // width, last // width):
        upto = count * ((bucket + 1) * width - first) // (last - first)
        if upto > given:
            yield bucket, upto - given
        given = upto
    if count > given:
        yield last // width, count - given
