"""The time that a report looks at, in pieces of equal length: never more than a chart can show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

from oborona.eventlog.slots import DAY_S, SLOT_S, slot_name

HOUR_S: Final = 3600
MOST_PIECES: Final = 180  # bars of a chart; of more none is seen
_LENGTHS: Final = (
    *(SLOT_S, 3 * SLOT_S, 6 * SLOT_S),
    *(HOUR_S, 2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S),
    *(DAY_S, 7 * DAY_S, 28 * DAY_S),
)

Item = TypeVar("Item")


class ReportSpan(NamedTuple):
    """A time in pieces, which begin where clocks in UTC do."""

    first: int  # Unix seconds, of the first piece
    last: float  # Unix seconds
    piece_s: int

    @property
    def ends(self) -> int:
        """The end of the last piece, Unix seconds."""
        return self.start(self.last) + self.piece_s

    def start(self, moment: float) -> int:
        """Return when the piece begins that a time is in, both in Unix seconds."""
        return int(moment // self.piece_s) * self.piece_s

    def pieces(
        self, items: Iterable[Item], moment: Callable[[Item], float]
    ) -> dict[str, list[Item]]:
        """Return what happened in each piece in which anything did, by when it begins.

        Args:
            items: what happened; of another time is left out.
            moment: when, Unix seconds.
        """
        first, ends, length = self.first, self.ends, self.piece_s
        found = defaultdict[int, list[Item]](list)
        for item in items:
            at = moment(item)
            if first <= at < ends:
                found[int(at // length)].append(item)
        return {slot_name(place * length): found[place] for place in sorted(found)}


def span_of(days: int, now: float, least_s: int = SLOT_S) -> ReportSpan:
    """Return the last days.

    Args:
        days: how many.
        now: Unix seconds.
        least_s: that a piece has.
    """
    piece_s = next(
        (one for one in _LENGTHS if one >= least_s and days * DAY_S <= MOST_PIECES * one),
        _LENGTHS[-1],
    )
    return ReportSpan(int((now - days * DAY_S) // piece_s) * piece_s, now, piece_s)
