"""Findings and scores in, verdict out: the same input gives the same verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.reputation.locallists import ListAction, Match
from oborona.types import Action, Finding, Mode, RuleHit, Verdict

BELOW: Final = "below-line"  # nothing that fired was enough
TEMPERROR: Final = "temperror"  # somebody who was asked by DNS gave no answer in time
PARTIAL: Final = "partial"  # the scan could not be finished; the configured answer was given


def decide(
    hits: Sequence[RuleHit], findings: Sequence[Finding], *, spam_score: float, reject_score: float
) -> Verdict:
    """Return the verdict of a message or of a stage.

    Args:
        hits: rules that fired; those in shadow mode score nothing.
        findings: what was found, carried along.
        spam_score: from here on a message is spam.
        reject_score: from here on it is refused; not below `spam_score`.

    Returns:
        A verdict whose score is the live hits' sum, rounded to a hundredth before it is compared, so that what is shown is
        what decided. `line` is the line that was reached, or the next one that was not. The deciding rule is the one whose part, heaviest
        first, carried the sum over the line.
    """
    live = sorted((hit for hit in hits if hit.mode is Mode.LIVE), key=lambda hit: (-abs(hit.score), hit.name))
    shadow = sorted(
        (hit for hit in hits if hit.mode is Mode.SHADOW), key=lambda hit: (-abs(hit.score), hit.name)
    )
    score = round(sum((hit.score for hit in live), 0.0), 2)
    if score >= reject_score:
        action, line = Action.REJECT, reject_score
    elif score >= spam_score:
        action, line = Action.SPAM, spam_score
    else:
        action, line = Action.ACCEPT, spam_score
    return Verdict(
        action=action,
        score=score,
        line=line,
        decided_by=BELOW if action is Action.ACCEPT else _decisive(live, line),
        rules=(*live, *shadow),
        findings=tuple(findings),
    )


def _decisive(live: Sequence[RuleHit], line: float) -> str:
    """The rule that carried the sum over the line, counting what speaks for the message first."""
    total = sum(hit.score for hit in live if hit.score < 0)
    for hit in live:
        if hit.score > 0:
            total = round(total + hit.score, 2)
            if total >= line:
                return hit.name
    return BELOW  # unreachable while the sum of the same parts reached the line


def enforced(verdict: Verdict, listed: Match, *, reject_score: float) -> Verdict:
    """Return the verdict of a message or of a stage that a list of the site decides, whatever its score.

    Args:
        verdict: without the list.
        listed: what matched.
        reject_score: the line that a refusal is shown with.
    """
    action = Action.REJECT if listed.action is ListAction.DENY else Action.ACCEPT
    return Verdict(
        action=action,
        score=verdict.score,
        line=reject_score if action is Action.REJECT else verdict.line,
        decided_by=listed.list,
        rules=(RuleHit(name=listed.list, score=0.0, say=f"{listed.action} {listed.entry}"), *verdict.rules),
        findings=verdict.findings,
    )


def unfinished(why: str, *, action: Action, spam_score: float, findings: Sequence[Finding] = ()) -> Verdict:
    """Return the verdict of a scan that hit its deadline or a bug: as configured, and saying so.

    Args:
        why: short, for people: `deadline`, `fault`.
        action: accept or tempfail.
        spam_score: the line that the missing score would have been held to.
        findings: what was found before.
    """
    return Verdict(
        action=action,
        score=0.0,
        line=spam_score,
        decided_by=PARTIAL,
        findings=(*findings, Finding(PARTIAL, why)),
    )
