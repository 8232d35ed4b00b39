"""The decision: findings and scores in, verdict out; the same input gives the same verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from oborona.policy.groups import RuleGroups, cap_hits
from oborona.reputation.locallists import ListAction, LocalListMatch
from oborona.types import Action, Finding, RuleHit, RuleMode, ShadowVerdict, Verdict

BELOW: Final = "below-threshold"  # nothing that fired was enough
TEMPERROR: Final = "temperror"  # somebody who was asked by DNS gave no answer in time
SET_APART: Final = "set-apart"  # workers died over the message: it was not looked into
# something that should be known is not; decides where nothing is, and another answer had to be
# given
PARTIAL: Final = "partial"
# the message took more than a scan may compute: its head was judged
UNFINISHED: Final = "scan-unfinished"
LOAD: Final = "load"  # why a scan is partial: others' messages held it up
DEADLINE: Final = "deadline"  # what it waited for did not come
FAULT: Final = "fault"  # of ours
COSTS: Final = "costs"  # its head, too, takes more than may be computed

_NO_GROUPS: Final = RuleGroups()


def decide(
    hits: Sequence[RuleHit],
    findings: Sequence[Finding],
    *,
    spam_score: float,
    reject_score: float,
    shadow_spam_score: float | None = None,
    shadow_reject_score: float | None = None,
    groups: RuleGroups = _NO_GROUPS,
) -> Verdict:
    """Return the verdict of a message or of a stage.

    Args:
        hits: rules that fired; those in shadow mode score nothing.
        findings: what was found, carried along.
        spam_score: from here on a message is spam.
        reject_score: from here on it is refused; not below `spam_score`.
        shadow_spam_score: a line on trial in the place of `spam_score`; None = the same.
        shadow_reject_score: a line on trial in the place of `reject_score`; None = the same.
        groups: whose caps the live hits keep to already, and those in shadow mode would have to
            keep to.

    Returns:
        A verdict whose score is the live hits' sum, rounded to a hundredth before it is compared,
        so that what is shown is what decided. `line` is the line that was reached, or the next one
        that was not. The deciding rule is the heaviest of those that speak against the message, by
        what the caps left of it. `would` is what the shadow rules and lines together would have
        made of it.
    """
    live = _heaviest_first(hit for hit in hits if hit.mode is RuleMode.LIVE)
    shadow = _heaviest_first(hit for hit in hits if hit.mode is RuleMode.SHADOW)
    action, score, line = _held(live, spam_score, reject_score)
    would = None
    if shadow or shadow_spam_score is not None or shadow_reject_score is not None:
        would = _would(
            _all_live(live, shadow, groups),
            shadow_spam_score or spam_score,
            shadow_reject_score or reject_score,
            action,
        )
    return Verdict(
        action=action,
        score=score,
        line=line,
        decided_by=BELOW if action is Action.ACCEPT else _heaviest(live),
        rules=(*live, *shadow),
        findings=tuple(findings),
        would=would,
    )


def _heaviest_first(hits: Iterable[RuleHit]) -> list[RuleHit]:
    return sorted(hits, key=lambda hit: (-abs(hit.score), hit.name))


def _all_live(
    live: Sequence[RuleHit], shadow: Sequence[RuleHit], groups: RuleGroups
) -> list[RuleHit]:
    """Return all hits as if those in shadow mode were live, under the caps of their groups."""
    as_live = [msgspec.structs.replace(hit, mode=RuleMode.LIVE) for hit in shadow]
    return _heaviest_first(cap_hits([*live, *as_live], groups))


def reached_line(score: float, spam_score: float, reject_score: float) -> tuple[Action, float]:
    """Return what a score does, and the line that it reached, or else the next one."""
    if round(score, 2) >= reject_score:
        return Action.REJECT, reject_score
    return (Action.SPAM if round(score, 2) >= spam_score else Action.ACCEPT), spam_score


def _held(
    hits: Iterable[RuleHit], spam_score: float, reject_score: float
) -> tuple[Action, float, float]:
    """Hold the sum of all hits to both lines: what is done, the sum, and the line."""
    score = round(sum((hit.score for hit in hits), 0.0), 2)
    action, line = reached_line(score, spam_score, reject_score)
    return action, score, line


def _would(
    hits: Sequence[RuleHit], spam_score: float, reject_score: float, actual: Action
) -> ShadowVerdict | None:
    """What all hits together would have made of it, None where that is what was given."""
    action, score, line = _held(hits, spam_score, reject_score)
    if action is actual:
        return None
    decided_by = BELOW if action is Action.ACCEPT else _heaviest(hits)
    return ShadowVerdict(action=action, score=score, line=line, decided_by=decided_by)


def _heaviest(live: Sequence[RuleHit]) -> str:
    """The live rule that weighs the most, after the caps of groups.

    Of equal ones the first by name.
    """
    # the sum reached a line, so there is one
    return next((hit.name for hit in live if hit.score > 0), BELOW)


def enforced_verdict(verdict: Verdict, listed: LocalListMatch, *, reject_score: float) -> Verdict:
    """Return the verdict of a message or of a stage that a list of the site decides, whatever its
    score.

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
        rules=(
            RuleHit(name=listed.list, score=0.0, say=f"{listed.action} {listed.entry}"),
            *verdict.rules,
        ),
        findings=verdict.findings,
    )


def with_findings(verdict: Verdict, more: Iterable[Finding]) -> Verdict:
    """Return a verdict that carries some findings more; they decide nothing."""
    parts = tuple(more)
    return (
        msgspec.structs.replace(verdict, findings=(*verdict.findings, *parts)) if parts else verdict
    )


def set_apart(spam_score: float) -> Verdict:
    """Return the verdict of a message that nobody dares to look into: filed as spam, and saying
    why.

    Args:
        spam_score: the threshold.

    Returns:
        No score of its own: a reader who has a higher threshold of spam has none for what nobody
        looked into.
    """
    return Verdict(
        action=Action.SPAM,
        score=0.0,
        line=spam_score,
        decided_by=SET_APART,
        findings=(Finding(PARTIAL, SET_APART),),
    )


def unfinished_verdict(
    why: str, *, on_failure: Action, spam_score: float, findings: Sequence[Finding] = ()
) -> Verdict:
    """Return the verdict of a message that could not be judged, which says so.

    Args:
        why: `LOAD`: it is put off; `COSTS`: its sender's doing, it is spam; `DEADLINE`, `FAULT`: as
            configured.
        on_failure: accept or tempfail.
        spam_score: the line that the missing score would have been held to.
        findings: what was found before.
    """
    return Verdict(
        action={LOAD: Action.TEMPFAIL, COSTS: Action.SPAM}.get(why, on_failure),
        score=0.0,
        line=spam_score,
        decided_by=PARTIAL,
        findings=(*findings, Finding(PARTIAL, why)),
    )


def is_late(verdict: Verdict) -> bool:
    """Tell whether a verdict is none for want of time alone: others' messages took it."""
    return (
        verdict.action is Action.TEMPFAIL
        and verdict.decided_by == PARTIAL
        and Finding(PARTIAL, LOAD) in verdict.findings
    )
