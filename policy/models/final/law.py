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
It is no witness of its own: less than `LEAST` points are no word, it counts among the rules of its
group, and it goes by no more than that beyond what all else found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import inf, log
from typing import Final

from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups, group_room
from oborona.policy.models.final.features import MODELS, SHIPPED
from oborona.policy.rules import VerdictLines
from oborona.types import RuleHit, RuleMode

BELOW: Final = 0.01  # a hundredth is what scores are rounded to
LEAST: Final = 15.0  # points; on mail that trees do not know, fewer stand on good mail as on spam
_NO_GROUPS: Final = RuleGroups()


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
    groups: RuleGroups = _NO_GROUPS,
) -> float:
    """Return what the model that comes with Oborona adds to the live hits.

    Args:
        points: that its log-odds stand for.
        most: its cap.
        hits: of rules and lists.
        lines: what a rule must reach to be a decision of the site.
        overrules: rules that are none, whatever they reach.
        groups: of rules; it keeps to the cap of its own.

    Guarantees: 0 to `most`; with it no score reaches `reject_score` that did not without.
    """
    live = [hit for hit in hits if hit.mode is RuleMode.LIVE]
    if points < LEAST or any(_decisions(live, lines, overrules)):
        return 0.0
    found = sum(hit.score for hit in live)
    # where the lines are one, what is spam is refused, and the admin has said so
    end = lines.reject_score - BELOW if lines.reject_score > lines.spam_score else lines.spam_score
    room = min(most, _witnessed(most, found, lines), group_room(live, groups, SHIPPED), end - found)
    return max(0.0, min(points, room))


def _witnessed(most: float, found: float, lines: VerdictLines) -> float:
    """Return how much may be added to what all else found.

    As much as that, or more where the cap files what has less: so it holds no message back that the
    cap would file.
    """
    left = lines.spam_score - most
    return LEAST + max(1.0, most / left) * found if left > 0 else inf


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
