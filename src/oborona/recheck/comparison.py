"""Compares two policies: verdicts of many messages side by side, by rule and by verdict, with
examples; pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from oborona.types import Action, RuleHit

UNCERTAIN: Final = "uncertain"  # stands where a verdict hangs on rules that can't be judged


class ComparedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict on a message, as much of it as is compared."""

    action: Action
    score: float
    line: float
    decided_by: str
    rules: tuple[RuleHit, ...] = ()


class VerdictPair(msgspec.Struct, frozen=True, kw_only=True):
    """One message under both policies."""

    name: str  # id in the journal, or file
    sender: str = ""
    subject: str = ""
    before: ComparedVerdict
    after: ComparedVerdict
    mildest: Action  # what the second verdict could be, whatever the rules say that can't be judged
    severest: Action
    unjudged: tuple[str, ...] = ()  # those rules

    @property
    def change(self) -> str:
        """What becomes of it, as in `accept → spam`; empty where it stays what it is."""
        if self.mildest is not self.severest:
            return f"{self.before.action} → {UNCERTAIN}"
        if self.after.action is self.before.action:
            return ""
        return f"{self.before.action} → {self.after.action}"


class RuleChange(msgspec.Struct, kw_only=True):
    """The changes of one rule's hits."""

    before: int = 0
    after: int = 0
    gained: int = 0  # messages that it hits, and did not before
    lost: int = 0
    decided_before: int = 0  # messages whose verdict it decided
    decided_after: int = 0
    score_before: float = 0.0  # sum of its parts
    score_after: float = 0.0
    unjudged: int = 0  # messages on which it can't be judged

    @property
    def differs(self) -> bool:
        """Whether anything but words became of it."""
        return bool(
            self.gained
            or self.lost
            or self.unjudged
            or self.decided_before != self.decided_after
            or round(self.score_before - self.score_after, 2)
        )


class VerdictComparison:
    """Sums over pairs of verdicts.

    Args:
        examples: kept of each change, the first that come.
    """

    def __init__(self, examples: int) -> None:
        self._most = examples
        self.messages = 0
        self.changes: Counter[str] = Counter()
        self.rules: dict[str, RuleChange] = {}
        self.examples: dict[str, list[VerdictPair]] = {}
        self.left_out: Counter[str] = Counter()  # messages of which nothing can be said, by why

    @property
    def differing(self) -> int:
        """Messages whose verdict would be another for certain."""
        return sum(
            number for change, number in self.changes.items() if not change.endswith(UNCERTAIN)
        )

    def add(self, pair: VerdictPair) -> None:
        """Take one message."""
        self.messages += 1
        before = {hit.name: hit for hit in pair.before.rules}
        after = {hit.name: hit for hit in pair.after.rules}
        for name, hit in before.items():
            rule = self._rule(name)
            rule.before += 1
            rule.score_before += hit.score
            rule.lost += name not in after and name not in pair.unjudged
        for name, hit in after.items():
            rule = self._rule(name)
            rule.after += 1
            rule.score_after += hit.score
            rule.gained += name not in before
        for name in pair.unjudged:
            self._rule(name).unjudged += 1
        if pair.before.decided_by in before:
            self._rule(pair.before.decided_by).decided_before += 1
        if pair.after.decided_by in after:
            self._rule(pair.after.decided_by).decided_after += 1
        if change := pair.change:
            self.changes[change] += 1
            pairs = self.examples.setdefault(change, [])
            if len(pairs) < self._most:
                pairs.append(pair)

    def leave_out(self, why: str) -> None:
        """Count a message of which nothing can be said."""
        self.left_out[why] += 1

    def differing_rules(self) -> Iterable[tuple[str, RuleChange]]:
        """Return the rules of which anything became, those with most changed hits first."""
        differing = [(name, rule) for name, rule in self.rules.items() if rule.differs]
        return sorted(
            differing,
            key=lambda pair: (-(pair[1].gained + pair[1].lost), -pair[1].unjudged, pair[0]),
        )

    def _rule(self, name: str) -> RuleChange:
        rule = self.rules.get(name)
        if rule is None:
            rule = self.rules[name] = RuleChange()
        return rule
