"""What mail and people's word weigh as evidence, and what share of bad mail they make likely.

    bad  = (spam - pardons) + 5 complaints + 10 traps        good = messages that were none of these
         + 5 pardons

Most people never complain, and nobody ever asked for mail to a trap, though somebody may try
whether an address is one: one or two hits in two weeks weigh nothing, and from the third on all do.
A pardon says that a spam verdict was wrong, and takes it back.  What was refused before its content
is no evidence: a refusal follows from what is remembered, and must not feed it.

    share = (bad + 4 near) / (bad + good + 4)            the mean of a Beta posterior; near is 1/2
    where nothing is known beside
    low   = share - 2 sqrt(share (1 - share) / (bad + good + 5))                 two deviations
          below it; 0.053 of nothing
"""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple


class ReportWeight:
    """How much a person's word or a trap counts, in messages."""

    COMPLAINT: Final = 5.0
    TRAP: Final = 10.0
    PARDON: Final = 5.0


# hits of two weeks, from which on they are evidence: fewer would show a sender, by what is told of
# his own mail, which address is a trap
TRAPS_LEAST: Final = 3
PRIOR: Final = 4.0  # messages that ignorance is worth
DEVIATIONS: Final = 2.0


class SpamEvidence(NamedTuple):
    """What speaks against an entity, and for it, in messages."""

    bad: float = 0.0
    good: float = 0.0

    @property
    def known(self) -> float:
        """Both."""
        return self.bad + self.good


def mean(evidence: SpamEvidence, near: float = 0.5) -> float:
    """Return the share of bad mail to be expected.

    Args:
        evidence: of the entity.
        near: the share that its surroundings make likely, 0 to 1.

    Source: Beta-binomial model; the prior is worth PRIOR messages.
    """
    return (evidence.bad + PRIOR * near) / (evidence.known + PRIOR)


def least(evidence: SpamEvidence, near: float = 0.5) -> float:
    """Return the least share of bad mail to be expected, DEVIATIONS below the mean.

    It may be below 0.
    """
    share = mean(evidence, near)
    return share - margin(share, evidence.known)


def margin(share: float, known: float) -> float:
    """Return DEVIATIONS of a share of bad mail, in which so many messages are known.

    Source: the normal approximation of the Beta posterior.
    """
    return DEVIATIONS * sqrt(share * (1 - share) / (known + PRIOR + 1))
