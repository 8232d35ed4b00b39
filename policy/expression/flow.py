"""How mail flows: its rate and its trend, the last hour against the rest of the day.

Numbers without memory of their own: the same counts give the same answer. How much like a machine's
a rhythm is, `oborona.reputation.judgement.rhythm` says.
"""

from __future__ import annotations

from typing import Final

from oborona.types import RuleWindow

HOURS: Final = {
    RuleWindow.RECENT: 1 / 6,
    RuleWindow.HOUR: 1.0,
    RuleWindow.DAY: 24.0,
    RuleWindow.FORTNIGHT: 336.0,
    RuleWindow.EARLIER: 312.0,
}


def per_hour(total: float, hours: float) -> float:
    """Return how many an hour a total of so many hours is."""
    return total / hours


def trend(hour: float, day: float) -> float:
    """Return the last hour over an average hour of the 23 before it, both with one message more.

    1 is steady, and also for what was never seen; 40 in an hour after nothing are 41. The one
    message more keeps the second message of a sender from being an explosion.
    """
    return (hour + 1) / (max(day - hour, 0) / 23 + 1)
