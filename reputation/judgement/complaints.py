"""How many of those who got its mail complain.

    c, n         complaints, and messages that were not found to be spam; sums in which the old is
                 worth less
    value        (c - 1) / (n + 500), 0 at least: the first complaint is taken for a mistake, and a
                 rate takes mail to be believed
    confidence   n / (n + 500)

A share of spam verdicts says nothing of mail that the filter lets through and people hate; their
complaints do.  Large mailbox providers hold senders to 0.1 %, and stop helping them at 0.3 %
(Google, Email sender guidelines, 2024).
"""

from __future__ import annotations

from typing import Final

from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.judgement.phrases import some
from oborona.reputation.timeline import EntityHistory

PRIOR: Final = 500.0  # messages nobody complained of
MISTAKEN: Final = 1.0  # complaint


def measure(past: EntityHistory) -> HistoryMeasure:
    """Return the rate of complaints."""
    delivered, all_ = past.weighed.passed, past.fortnight
    messages = delivered + PRIOR
    phrase = (
        f"{some(all_.complaints, 'complaints')} of {all_.seen:,} in two weeks"
        if all_.complaints
        else ""
    )
    complained = max(0.0, past.weighed.complaints - MISTAKEN)
    return HistoryMeasure("complaints", complained / messages, delivered / messages, phrase)
