"""At which stages a verdict can fall, so that a mail server is made to wait there and nowhere else.

Each answer that a mail server waits for is a round trip, and costs more than the rules themselves.
"""

from __future__ import annotations

from oborona.policy.load import Policy
from oborona.types import Mode, Stage


def deciding(policy: Policy) -> frozenset[Stage]:
    """Return the stages before the content where rules can add up to a refusal.

    A stage counts when it has a live rule of its own, and the positive scores of all live rules up to it reach the reject score.
    """
    if not policy.verdict.refuse:
        return frozenset()
    scores: dict[Stage, float] = {}
    for rule in policy.rules:
        if rule.enabled and rule.mode is Mode.LIVE and rule.score > 0:
            stage = policy.compiled.stages[rule.name]
            scores[stage] = scores.get(stage, 0.0) + rule.score
    reached, total = set(), 0.0
    for stage in Stage:
        total += scores.get(stage, 0.0)
        if stage in scores and stage is not Stage.CONTENT and total >= policy.verdict.reject_score:
            reached.add(stage)
    return frozenset(reached)
