"""The share of spam in a history, estimated from few messages.

A Beta posterior: the mean of Beta(spam + a, ham + b) with a prior that knows nothing of the sender
but is cautious, so that one bad message makes nobody a spammer and one good one makes nobody
honest.
"""

from __future__ import annotations

from typing import Final

PRIOR_SPAM: Final = 0.5
PRIOR_HAM: Final = 0.5
"""Jeffreys' prior: the least that still keeps the share of nothing at one half."""


def spam_share(seen: int, spam: int) -> float:
    """Return the expected share of spam in a history.

    Args:
        seen: messages, 0 or more.
        spam: those of them judged spam; more than `seen` counts as all.

    Returns:
        From 0 to 1; 0.5 for no history, and never quite 0 or 1 for less than 10^15 messages.

    Source: Beta-binomial model with Jeffreys' prior (Brown, Cai, DasGupta 2001, "Interval
        estimation for a binomial proportion").
    """
    spam = min(spam, seen)
    return (spam + PRIOR_SPAM) / (seen + PRIOR_SPAM + PRIOR_HAM)
