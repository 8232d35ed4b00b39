"""From the final model's probability to its part of the score.

The score that a probability stands for runs in straight lines over its log-odds, through these
points:

    1 - spam → 0        spam → spam_score        reject → reject_score

Below the first and above the last it goes on as steeply, to -spam_score and to reject_score +
spam_score; where the model may not refuse, it stays below `reject_score`.  The model's part is what
makes the score of the whole the one that the probability stands for.  Rules that reach the spam
line alone are the site's own decisions, and are not overruled: the score does not go below what
those that speak against a message say, nor above what those that speak for it say. What the content
model says is none of these (`overrules`): the final model knows it, and more.

The model that comes with Oborona only adds: points for its log-odds, up to a cap, nothing beside a
decision of the site, and never so much that a message is refused that the rules alone would take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import log
from typing import Final

from oborona.policy.final_table import FinalTable
from oborona.policy.models.final.features import MODELS
from oborona.policy.rules import VerdictLines
from oborona.types import RuleHit, RuleMode

BELOW: Final = 0.01  # a hundredth is what scores are rounded to


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability between 0 and 1, both excluded."""
    return log(probability / (1 - probability))


def score_of(odds: float, table: FinalTable, lines: VerdictLines) -> float:
    """Return the score that log-odds stand for."""
    spam = log_odds(table.spam)
    if odds < spam or not table.reject:
        score = lines.spam_score * (odds + spam) / (2 * spam)
    else:
        share = (odds - spam) / (log_odds(table.reject) - spam)
        score = lines.spam_score + share * (lines.reject_score - lines.spam_score)
    most = lines.reject_score + lines.spam_score if table.reject else lines.reject_score - BELOW
    if not table.reject and lines.reject_score <= lines.spam_score:
        # the lines are one: what is spam is refused, and the admin has said so
        most = lines.spam_score
    return max(-lines.spam_score, min(score, most))


def part(
    score: float, hits: Sequence[RuleHit], lines: VerdictLines, overrules: Collection[str] = ()
) -> float:
    """Return what the model adds to the live hits so that they come to a score.

    Args:
        score: that the model's probability stands for.
        hits: of rules and lists.
        lines: what a rule must reach to be a decision of the site.
        overrules: rules that are none, whatever they reach.
    """
    live = [hit for hit in hits if hit.mode is RuleMode.LIVE]
    total = sum(hit.score for hit in _decisions(live, lines, overrules))
    if total > 0:
        score = max(score, total)
    elif total < 0:
        score = min(score, total)
    return score - sum(hit.score for hit in live)


def added(
    points: float,
    most: float,
    hits: Sequence[RuleHit],
    lines: VerdictLines,
    overrules: Collection[str] = (),
) -> float:
    """Return what the model that comes with Oborona adds to the live hits.

    Args:
        points: that its log-odds stand for.
        most: its cap.
        hits: of rules and lists.
        lines: what a rule must reach to be a decision of the site.
        overrules: rules that are none, whatever they reach.

    Guarantees: 0 to `most`; with it no score reaches `reject_score` that did not without.
    """
    live = [hit for hit in hits if hit.mode is RuleMode.LIVE]
    if any(_decisions(live, lines, overrules)):
        return 0.0
    # where the lines are one, what is spam is refused, and the admin has said so
    end = lines.reject_score - BELOW if lines.reject_score > lines.spam_score else lines.spam_score
    return max(0.0, min(points, most, end - sum(hit.score for hit in live)))


def _decisions(
    live: Sequence[RuleHit], lines: VerdictLines, overrules: Collection[str]
) -> Iterator[RuleHit]:
    return (
        hit
        for hit in live
        if abs(hit.score) >= lines.spam_score
        and hit.name not in overrules
        and hit.name not in MODELS
    )
