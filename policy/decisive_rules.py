"""The decisive rules of a verdict: those without which the message would be on the other side of
the spam threshold.
"""

from __future__ import annotations

from collections.abc import Iterable

from oborona.types import RuleHit, RuleMode


def hangs_on(hits: Iterable[RuleHit], score: float, spam_score: float) -> tuple[str, ...]:
    """Return the live rules on each of which alone it depends whether a message is spam.

    Args:
        hits: the verdict's rules, each with its part.
        score: of the verdict.
        spam_score: from here on it is spam.
    """
    spam = score >= spam_score
    return tuple(
        hit.name
        for hit in hits
        if hit.mode is RuleMode.LIVE
        and hit.score
        and (round(score - hit.score, 2) >= spam_score) != spam
    )
