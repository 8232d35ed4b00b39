"""How often the rules hit sorted good mail and spam, added up."""

from __future__ import annotations

import msgspec

from oborona.policy.decisive_rules import hangs_on
from oborona.policy.load import Policy
from oborona.types import Action, RuleHit, RuleMode, Verdict


class RuleEffect(msgspec.Struct, kw_only=True):
    """What one rule does on sorted mail."""

    mode: RuleMode
    hits: list[int] = msgspec.field(default_factory=lambda: [0, 0])  # on ham, on spam
    # verdicts that hang on it alone
    alone: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    scores: set[float] = msgspec.field(default_factory=set)


class VerdictTally:
    """Adds up verdicts on sorted mail."""

    def __init__(self, policy: Policy) -> None:
        self._line = policy.verdict.spam_score
        self.messages = [0, 0]  # ham, spam
        self.filed = [0, 0]  # of these, not to the inbox
        self.refused = [0, 0]
        self.rules: dict[str, RuleEffect] = {}
        self.would = [0, 0]  # not to the inbox, if all in shadow mode were live

    def add(self, verdict: Verdict, *, spam: bool) -> None:
        """Take one message."""
        self.messages[spam] += 1
        self.filed[spam] += verdict.action is not Action.ACCEPT
        self.refused[spam] += verdict.action is Action.REJECT
        self.would[spam] += (verdict.would or verdict).action is not Action.ACCEPT
        for hit in verdict.rules:
            effect = self._effect(hit)
            effect.hits[spam] += 1
            effect.scores.add(hit.score)
        for name in hangs_on(verdict.rules, verdict.score, self._line):
            self.rules[name].alone[spam] += 1

    def share(self, numbers: list[int], *, spam: bool) -> float:
        """Return the share of all ham or spam that a number is."""
        return numbers[spam] / self.messages[spam] if self.messages[spam] else 0.0

    def worst_first(self) -> list[tuple[str, RuleEffect]]:
        """Return the rules, those first that cost good mail its inbox, then those that hit most of
        it.
        """
        return sorted(
            self.rules.items(),
            key=lambda entry: (
                -entry[1].alone[0] * (max(entry[1].scores) > 0),
                -self.share(entry[1].hits, spam=False) * (max(entry[1].scores) > 0),
                -entry[1].hits[1],
                entry[0],
            ),
        )

    def _effect(self, hit: RuleHit) -> RuleEffect:
        effect = self.rules.get(hit.name)
        if effect is None:
            effect = self.rules[hit.name] = RuleEffect(mode=hit.mode)
        return effect
