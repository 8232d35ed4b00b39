"""Rechecks by the clock: each accepted message is looked at so many seconds after it was judged, in
the order of the ids; pure.

After a pause it comes late; what is late by more than `LATE_S` is skipped, so that the newest mail
does not wait for the oldest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oborona.ident import first_id_at

LATE_S: Final = 600.0


class DueMessages(NamedTuple):
    """Messages whose time has come."""

    look_s: float
    after: int  # ids above this
    before: int  # and below this


class RecheckClock:
    """The scheduled rechecks of one process.

    Args:
        looks_s: seconds after the verdict, ascending.
        places: how far each look was, by its name.
        now: Unix seconds.
    """

    def __init__(self, looks_s: Sequence[float], places: Mapping[str, int], now: float) -> None:
        self._places = {
            delay: max(places.get(name_of(delay), 0), first_id_at(now - delay) - 1)
            for delay in looks_s
        }
        for (
            delay
        ) in looks_s:  # a restart: what was due meanwhile is looked at, if it is not too late
            place = places.get(name_of(delay), 0)
            if place:
                self._places[delay] = max(place, first_id_at(now - delay - LATE_S))
        self._turn = 0

    def due(self, now: float) -> DueMessages | None:
        """Return messages whose time has come, of one look after the other in turn.

        None where there can be none.

        Args:
            now: Unix seconds.
        """
        looks = list(self._places)
        for _ in looks:
            self._turn = (self._turn + 1) % len(looks)
            look_s = looks[self._turn]
            before = first_id_at(now - look_s)
            # the clock was ahead, and is not now
            if self._places[look_s] > first_id_at(now - look_s + LATE_S):
                self._places[look_s] = before - 1
            self._places[look_s] = max(self._places[look_s], first_id_at(now - look_s - LATE_S))
            if before > self._places[look_s] + 1:
                return DueMessages(look_s, self._places[look_s], before)
        return None

    def came(self, due: DueMessages, last: int | None) -> None:
        """Note how far a look has come.

        Args:
            due: that was looked at.
            last: id of the last message; None = there were no more.
        """
        self._places[due.look_s] = due.before - 1 if last is None else last

    @property
    def places(self) -> dict[str, int]:
        """How far each look is, by its name, for the next process."""
        return {name_of(delay): place for delay, place in self._places.items()}


def name_of(look_s: float) -> str:
    """Return the name under which a look's place is written down."""
    return f"clock-{look_s:g}"
