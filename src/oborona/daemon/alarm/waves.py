"""Detection of waves: when the count of the last ten minutes is far above the usual.

Pure: the caller passes the time.

A stream is whatever is counted under one name: messages moved, copies of one campaign.  Its level
now is what the last ten minutes had; its usual level is what ten minutes had on the average of the
day before them.  Above `least`, and above `times` the usual level, a wave begins; it is told once,
and is over when the level has fallen under half of that, as it was then or is now.

Who begins with a past gives it in first, in its order: `add` with the times of then.  A stream
without a past has a usual level of zero.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

SLOT_S: Final = 60  # of time that is counted together
NOW_SLOTS: Final = 10  # of the level now
DAY_SLOTS: Final = 24 * 60  # of the usual level, before those of now
MOST_STREAMS: Final = 1000  # beyond these the one that was silent longest is forgotten


class Wave(NamedTuple):
    """A wave that has just begun."""

    stream: str
    level: int  # within the last ten minutes
    usual: float  # in ten minutes of the day before
    since: float  # Unix seconds: the beginning of these ten minutes


class WaveDetector:
    """Watches streams.

    Args:
        least: of a wave, within ten minutes.
        times: the usual level that a wave has at least.
    """

    def __init__(self, *, least: int, times: float) -> None:
        self._least = least
        self._times = times
        self._streams: OrderedDict[str, _StreamCounts] = OrderedDict()

    def add(self, stream: str, count: int, now: float) -> Wave | None:
        """Count something; return the wave that begins with it, None where none does.

        Args:
            stream: its name.
            count: how much, 0 or more.
            now: Unix seconds; what is earlier than what the stream has seen counts for then.
        """
        counts = self._streams.setdefault(stream, _StreamCounts(int(now // SLOT_S)))
        self._streams.move_to_end(stream)
        if len(self._streams) > MOST_STREAMS:
            self._streams.popitem(last=False)
        slot = int(now // SLOT_S)
        counts.add(slot, 0)  # what is over is over before more comes
        if counts.level < max(counts.begun_at, self._line(counts)) / 2:
            counts.begun_at = 0.0
        counts.add(slot, count)
        if counts.begun_at or counts.level < self._line(counts):
            return None
        counts.begun_at = self._line(counts)
        return Wave(stream, counts.level, counts.usual, (counts.slot - NOW_SLOTS + 1) * SLOT_S)

    def _line(self, stream: _StreamCounts) -> float:
        """Return the level at which a wave begins now."""
        return max(self._least, self._times * stream.usual)


class _StreamCounts:
    """The counts of one stream, by slots."""

    __slots__ = ("_counts", "_day", "begun_at", "level", "slot")

    def __init__(self, slot: int) -> None:
        self.slot = slot  # the newest
        self.level = 0  # of the newest `NOW_SLOTS`
        self.begun_at = 0.0  # the line that a wave has crossed; 0 = there is none
        self._day = 0  # of the `DAY_SLOTS` before them
        self._counts: dict[int, int] = {}  # of both, by slot

    @property
    def usual(self) -> float:
        """What `NOW_SLOTS` had on the average of the day before."""
        return self._day * NOW_SLOTS / DAY_SLOTS

    def add(self, slot: int, count: int) -> None:
        """Count something in a slot, and forget what is older than a day."""
        if slot > self.slot:
            self.slot = slot
            self._sum()
        slot = max(slot, self.slot - NOW_SLOTS - DAY_SLOTS + 1)
        self._counts[slot] = self._counts.get(slot, 0) + count
        if slot > self.slot - NOW_SLOTS:
            self.level += count
        else:
            self._day += count

    def _sum(self) -> None:
        now, oldest = self.slot - NOW_SLOTS, self.slot - NOW_SLOTS - DAY_SLOTS
        self._counts = {slot: count for slot, count in self._counts.items() if slot > oldest}
        self.level = sum(count for slot, count in self._counts.items() if slot > now)
        self._day = sum(self._counts.values()) - self.level
