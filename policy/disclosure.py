"""Hides what a verdict tells of traps: headers, answers and reports do not show it.

The journal, the log and `oborona explain` show all.

Anybody who knows a trap address can use it against others, and a spammer with a mailbox here reads
the headers of their own mail.  So

    a rule that asks for a trap fact,     is not shown, nor is its part of the score
      itself or through others
    words that may hold traps             are shown without their number
      (of karma, of entities, of RepIP)
    the final model, whose probability    knows neither such rules nor such facts: their part stands
      is shown                            beside its own

whatever `headers.reason` says, for rules of the site and of scripts, too: the facts that a rule
names decide (`oborona.policy.private_rules`), and no rule has to be marked.

Known limit: the effect of a verdict can be seen.  If a text's other rules bring it close to a
threshold, the spam folder tells that something more was known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, Protocol

import msgspec

from oborona.policy.decision import BELOW
from oborona.policy.history import REPIP_BAD, REPIP_POOR
from oborona.policy.karma import KARMA
from oborona.types import Action, RuleHit, RuleMode, Verdict

WORDS: Final = frozenset({KARMA, REPIP_BAD, REPIP_POOR})  # hits whose words are
_NUMBER: Final = re.compile(r"(?:[,;] )?\b[\d,]+ traps?\b")  # as the words of counts have it
POLICY: Final = "policy"  # decides, as a name, where the rule that did is not told


class PrivateRules(Protocol):
    """A policy, as the source of its private rules."""

    @property
    def private(self) -> Collection[str]:
        """Names of rules that are not told."""
        ...

    @property
    def wordless(self) -> Collection[str]:
        """Names of rules that are told without what their words say of traps."""
        ...


def public_verdict(verdict: Verdict, policy: PrivateRules) -> Verdict:
    """Return a verdict as others may see it; the same where nothing is to be hidden.

    Args:
        verdict: of a message or of a stage.
        policy: that it was judged by.

    The action stays.  The score is the sum of what is told; of spam, and of what is refused, no
    less than the line that was reached.
    """
    private, wordless = policy.private, policy.wordless
    hidden = [hit for hit in verdict.rules if hit.name in private]
    silent = [
        hit
        for hit in verdict.rules
        if "trap" in hit.say and (hit.name in WORDS or hit.name in wordless)
    ]
    if not hidden and not silent:
        return verdict
    shown = tuple(
        msgspec.structs.replace(hit, say=_NUMBER.sub("", hit.say)) if hit in silent else hit
        for hit in verdict.rules
        if hit.name not in private
    )
    if not hidden:
        return msgspec.structs.replace(verdict, rules=shown)
    score = round(verdict.score - sum(hit.score for hit in hidden if hit.mode is RuleMode.LIVE), 2)
    if verdict.action in (Action.SPAM, Action.REJECT):
        score = max(score, verdict.line)
    return msgspec.structs.replace(
        verdict,
        score=score,
        rules=shown,
        decided_by=_decided_by(verdict, shown)
        if verdict.decided_by in private
        else verdict.decided_by,
        would=None,  # it would have been something else without them
    )


def public_hits(hits: Sequence[RuleHit], policy: PrivateRules) -> list[RuleHit]:
    """Return the hits that others may know of."""
    private = policy.private
    return [hit for hit in hits if hit.name not in private]


def _decided_by(verdict: Verdict, shown: tuple[RuleHit, ...]) -> str:
    if verdict.action is Action.ACCEPT:
        return BELOW
    return next((hit.name for hit in shown if hit.mode is RuleMode.LIVE and hit.score > 0), POLICY)
