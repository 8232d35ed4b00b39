"""The stages at which a verdict can fall and be answered, and what must be asked for it.

A mail server waits only at those.  Each answer that it waits for is a round trip, and costs more
than the rules themselves.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.policy.load import Policy
from oborona.types import RuleMode, Stage

_SPF: Final = frozenset(
    {"spf.result", "spf.domain", "spf.helo", "sender.proved", "repuser.flag", "repuser.share"}
)
_IPREV: Final = frozenset({"iprev.result"})


class AwaitedAnswers(NamedTuple):
    """The answers that the rules of a stage, and of those before it, need."""

    spf: bool
    iprev: bool


def awaited_answers(policy: Policy, stage: Stage) -> AwaitedAnswers:
    """Return what has to be known before the rules of a stage can run."""
    named = policy.compiled.named[stage]
    if policy.scripts is not None:
        named |= policy.scripts.named[stage]
    return AwaitedAnswers(spf=not named.isdisjoint(_SPF), iprev=not named.isdisjoint(_IPREV))


class DecidingStages:
    """`deciding`, worked out once for each policy that is in use for a while."""

    def __init__(self) -> None:
        self._policy: Policy | None = None
        self._stages: frozenset[Stage] = frozenset()

    def __call__(self, policy: Policy) -> frozenset[Stage]:
        """Return the stages of a policy."""
        if self._policy is not policy:
            self._policy, self._stages = policy, deciding(policy)
        return self._stages


def deciding(policy: Policy) -> frozenset[Stage]:
    """Return the stages before the content where a client, sender or recipient can be refused, put
    off or slowed down.

    Rules and DNS lists: a stage counts when it has a live one of its own, and the positive scores
    of all live ones up to it reach the reject score.  Local lists: wherever what they name is
    known.  RepIP: at connect.  Where it is said is `waiting_stages`.
    """
    if not policy.verdict.refuse:
        return frozenset()
    scores: dict[Stage, float] = {}
    stages = policy.compiled.stages | (policy.scripts.stages if policy.scripts is not None else {})
    for rule in policy.rules:
        if rule.enabled and rule.mode is RuleMode.LIVE and rule.most > 0:
            stage = stages[rule.name]
            scores[stage] = scores.get(stage, 0.0) + rule.most
    for dns_list in policy.dns_lists:
        heaviest = max(dns_list.codes.scores, default=0.0)
        if dns_list.enabled and dns_list.mode is RuleMode.LIVE and heaviest > 0:
            for stage in {of.stage for of in dns_list.of}:
                scores[stage] = scores.get(stage, 0.0) + heaviest
    reached, total = {of.stage for of in policy.local_lists.subjects}, 0.0
    for stage in Stage:
        total += scores.get(stage, 0.0)
        if stage in scores and total >= policy.verdict.reject_score:
            reached.add(stage)
    if policy.repip.bad != "none" or policy.repip.poor != "none":
        reached.add(Stage.CONNECT)
    return frozenset(reached - {Stage.CONTENT, Stage.RECHECK})


def waiting_stages(falls: frozenset[Stage], policy: Policy) -> frozenset[Stage]:
    """Return the stages where a mail server has to wait for what falls at others: none before the
    policy wants anybody to be refused.
    """
    return frozenset(
        max(stage, policy.verdict.first, key=lambda stage: stage.order) for stage in falls
    )
