"""How one DNS list is asked about all own addresses: evenly over some hours, round after round.

Pure. A list that is sick is not asked, and its round waits where it is; after a stop a round goes
on from where it was, no faster than twice its pace.
"""

from __future__ import annotations

from typing import Final

import msgspec

CATCH_UP: Final = 2.0  # times the ordinary pace
LOOK_S: Final = 1.0  # at least, between looks


class ListRound(msgspec.Struct, frozen=True, kw_only=True):
    """A round of one list."""

    list: str  # its name
    begun: float  # Unix seconds
    last: str = ""  # address that was asked about; "" = none yet
    asked: int = 0  # addresses of this round
    finished: float = 0.0  # Unix seconds, when a whole round ended last; 0 = none yet


def due(of: ListRound, total: int, every_s: float, now: float) -> int:
    """Return how many addresses are to be asked about now.

    Args:
        of: the round.
        total: addresses.
        every_s: that a round takes.
        now: Unix seconds; before `begun` nothing is due.
    """
    if not total or now < of.begun:
        return 0
    pace = total / every_s
    wanted = int((now - of.begun) * pace) + 1 - of.asked  # one more than there are ends the round
    return max(0, min(wanted, int(CATCH_UP * pace * LOOK_S) + 1))


def next_due(of: ListRound, total: int, every_s: float) -> float:
    """Return when the next address is due, Unix seconds."""
    return of.begun + of.asked * every_s / max(total, 1)


def gone_on(
    of: ListRound, addresses: list[str], wanted: int, every_s: float, now: float
) -> ListRound:
    """Return the round after some addresses were asked about.

    Args:
        of: as it was.
        addresses: that followed in their order.
        wanted: how many were asked for; fewer followed: the round is at its end.
        every_s: that a round takes.
        now: Unix seconds.
    """
    if len(addresses) < wanted:
        begun = max(of.begun + every_s, now)
        return ListRound(list=of.list, begun=begun, finished=now)
    return msgspec.structs.replace(of, last=addresses[-1], asked=of.asked + len(addresses))
