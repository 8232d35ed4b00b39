"""The age of the counters' memory; a young memory refuses nobody.

An empty memory knows no good past: if the first hundred messages of a provider are from a stolen
account, it knows only these.  So RepIP refuses, slows and defers nobody until the memory is eleven
days old; rules see its flags from the first message on.

Every counted message counts one common shingle, whose time-line tells since when there is mail.  So
a store that was lost, set aside or emptied is young again, wherever it lies, and an older Oborona's
is young until it has counted that long.
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
