"""How far the counters' memory reaches back; a young one refuses nobody.

An empty memory knows no good past: of a provider whose first hundred messages here are a stolen
account's it knows these.  So RepIP refuses, slows and puts off nobody until the memory reaches back
eleven days; rules see its flags from the first message on.

Every message that is counted counts one shingle that all have in common, and the time-line of that
says since when there is mail.  So a store that was lost, set aside or emptied begins young again,
wherever it lies, and an older Oborona's is young until it has counted that long.
"""

from __future__ import annotations

from typing import Final, Protocol

from oborona.counters.window import DAYS, Timeline
from oborona.errors import StoreError
from oborona.message.hashing import ShingleType
from oborona.policy.ports import CounterReader
from oborona.types import Metric, Shingle

# no country's: theirs are hashes under the site's secret
ALL_MAIL: Final = Shingle(int(ShingleType.COUNTRY), 0)
# a weekend short of what counters keep: a small office has none at the week-end
OLD_DAYS: Final = 11
AGAIN_S: Final = 600.0  # between two looks at an old one
AGAIN_YOUNG_S: Final = 1.0


class MemoryAge(Protocol):
    """Tells whether memory is too young to refuse anybody."""

    @property
    def young(self) -> bool:
        """As of the last look."""
        ...

    async def look(self, counters: CounterReader, now: float) -> None:
        """Look again, where that is due; a store that is away leaves what was known."""
        ...


class OldMemory:
    """A memory that is old, for tools that judge what is long past."""

    young: bool = False

    async def look(self, counters: CounterReader, now: float) -> None:
        """Know it already."""


class CounterMemoryAge:
    """The memory of a process's counters; young until it was looked at."""

    def __init__(self) -> None:
        self.young = True
        self._due = float("-inf")
        self._looked = float("-inf")

    async def look(self, counters: CounterReader, now: float) -> None:
        """Look at the time-line of all mail, where that is due or the clock went back."""
        if self._looked <= now < self._due:
            return
        self._looked, self._due = now, now + (AGAIN_YOUNG_S if self.young else AGAIN_S)
        try:
            (line,) = await counters.timelines([ALL_MAIL], now)
        except StoreError:
            return
        self.young = is_young(line)


def is_young(line: Timeline) -> bool:
    """Tell whether a memory with this time-line of all mail refuses nobody yet."""
    return days_of(line) < OLD_DAYS


def days_of(line: Timeline) -> int:
    """Return how many days ago the first message of a time-line was counted.

    0 for today's, and for none.
    """
    first = next((place for place, day in enumerate(line.days) if day[Metric.SEEN]), DAYS - 1)
    return DAYS - 1 - first
