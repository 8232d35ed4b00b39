"""An explanation as data: what `--json` prints, and what is shown to people.

Names and meaning of its fields stay.
"""

from __future__ import annotations

from typing import Any

import msgspec

from oborona.desk.messages.feedback import ExplainedFeedback
from oborona.desk.messages.moves import CopyMove
from oborona.types import Action, Finding, RuleHit, ShadowVerdict, Verdict


class DecidingScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores that decide."""

    spam: float
    reject: float
    shadow_spam: float | None  # on trial; null: none
    shadow_reject: float | None


class VerdictSide(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict and what led to it, at one time."""

    verdict: Action
    score: float
    line: float
    decided_by: str
    # what everything in shadow mode would have made of it, where that is something else
    would: ShadowVerdict | None
    policy: str  # version
    lines: DecidingScores | None  # null: of then, when they were others
    rules: tuple[RuleHit, ...]
    findings: tuple[Finding, ...]
    facts: dict[str, Any]  # by dotted name; those that are not kept are left out
    model: dict[str, Any]  # what the content model said
    not_judged: dict[str, str] = {}  # rules by name: why
    possible: tuple[Action, ...] = ()  # verdicts that those could make of it


class CountedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a message, and what is counted of it."""

    piece: str  # TYPE:HASH
    then: (
        dict[str, int] | None
    )  # seen in an hour, a day, two weeks; spam and complaints in two weeks; null: not kept
    now: dict[str, int] | None  # null: the store does not answer


class ExplanationChange(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not what it was."""

    name: str
    then: Any
    now: Any


class VerdictExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Of one message."""

    id: str | None = None  # of the journal; null: of a file
    file: str | None = None
    time: str | None = None  # ISO 8601, when it was judged
    queue_id: str = ""
    client: str = ""
    helo: str = ""
    sender: str = ""
    recipients: tuple[str, ...] = ()
    login: str = ""
    subject: str = ""
    message_id: str = ""
    size: int = 0
    door: str = ""  # the listener that it came by; empty = none, or of an older Oborona
    then: VerdictSide | None = None
    now: VerdictSide | None = None
    no_now: str = ""  # why there is none
    late: VerdictSide | None = None  # when more of it was known, minutes after the answer
    counts: tuple[CountedPiece, ...] = ()
    changed_verdict: bool = False
    changed_rules: tuple[ExplanationChange, ...] = ()  # scores; null: it did not fire
    changed_facts: tuple[ExplanationChange, ...] = ()
    feedback: tuple[ExplainedFeedback, ...] = ()  # what was said of it, in order
    moves: tuple[CopyMove, ...] = ()  # what the second look did with its copies, in order
    # margin, its parts by view, and the runs and traits that pulled most
    content_model: dict[str, Any] | None = None
    # of the site's own: probability, mean, and the features that pulled most
    final_model: dict[str, Any] | None = None
    # of the one that comes with Oborona: log-odds that it adds to the rules, and the same
    shipped_model: dict[str, Any] | None = None


def changes(then: VerdictSide | None, now: VerdictSide | None) -> dict[str, Any]:
    """Return what is not what it was, as fields of an explanation."""
    if then is None or now is None:
        return {}
    before, after = ({hit.name: hit.score for hit in side.rules} for side in (then, now))
    rules = [
        ExplanationChange(name=name, then=before.get(name), now=after.get(name))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name) and name not in now.not_judged
    ]
    facts = [
        ExplanationChange(name=name, then=then.facts[name], now=value)
        for name, value in now.facts.items()
        if name in then.facts and then.facts[name] != value
    ]
    return {
        "changed_verdict": then.verdict is not now.verdict,
        "changed_rules": tuple(rules),
        "changed_facts": tuple(facts),
    }


def side_of(
    verdict: Verdict,
    *,
    policy: str,
    lines: DecidingScores | None,
    facts: dict[str, Any],
    model: dict[str, Any],
    not_judged: dict[str, str] | None = None,
    possible: tuple[Action, ...] = (),
) -> VerdictSide:
    """Return one side of an explanation.

    Args:
        verdict: that was given, or would be.
        policy: version.
        lines: of it.
        facts: by dotted name.
        model: what the content model said.
        not_judged: rules that can't be judged, and why.
        possible: verdicts that those could make of it.
    """
    return VerdictSide(
        verdict=verdict.action,
        score=verdict.score,
        line=verdict.line,
        decided_by=verdict.decided_by,
        would=verdict.would,
        policy=policy,
        lines=lines,
        rules=verdict.rules,
        findings=verdict.findings,
        facts=facts,
        model=model,
        not_judged=not_judged or {},
        possible=possible,
    )
