"""What was found out of rules when a policy was loaded before: a change of one rule of a thousand
costs the check of one.

A rule is known again by its own texts, and if everything that it names (facts, conditions, what can
be hit) is as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Generic, NamedTuple, TypeVar

from oborona.policy.expression.references import RuleReference
from oborona.policy.expression.schema import FactSchema
from oborona.policy.rules import Condition, Rule
from oborona.types import RuleMode

Answers = dict[tuple[str, bool], RuleReference | None]
"""What a rule asked of its set, by name and whether that was asked for by fired(): a condition is
not.
"""

Made = TypeVar("Made")


def texts_of(rule: Rule | Condition) -> tuple[object, ...]:
    """Return what a rule's or condition's check depends on, beside what they name."""
    if isinstance(rule, Condition):
        return (rule.when,)
    formula = rule.score if isinstance(rule.score, str) else None
    return rule.when, rule.say, formula, rule.stage, rule.mode is RuleMode.LIVE


class CachedRule(NamedTuple, Generic[Made]):
    """The check of one rule or condition."""

    texts: tuple[object, ...]
    answers: Mapping[tuple[str, bool], RuleReference | None]
    made: Made


class RuleCache(Generic[Made]):
    """The rules of the policies that one process has loaded: all of the last, and of such that were
    refused since.
    """

    def __init__(self) -> None:
        self._schema: FactSchema | None = None
        self._known: dict[str, CachedRule[Made]] = {}

    def begin(self, schema: FactSchema) -> None:
        """Forget all if what rules may name is another than before."""
        if self._schema != schema:
            self._known.clear()
        self._schema = schema

    def find(self, name: str, texts: tuple[object, ...]) -> CachedRule[Made] | None:
        """Return a rule or condition of this name and of these texts, None if it is new."""
        entry = self._known.get(name)
        return entry if entry is not None and entry.texts == texts else None

    def note(
        self,
        name: str,
        texts: tuple[object, ...],
        answers: Mapping[tuple[str, bool], RuleReference | None],
        made: Made,
    ) -> None:
        """Remember a rule or condition."""
        self._known[name] = CachedRule(texts, answers, made)

    def keep(self, names: Collection[str]) -> None:
        """Forget all others."""
        self._known = {name: rule for name, rule in self._known.items() if name in names}
