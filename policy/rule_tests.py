"""Tests that stand beside a rule in its file, run one by one.

[[rule.test]]
facts = { "text.words" = 3, "count[From].day.seen" = 20, findings = ["hidden-text"] }
fired = ["MASS_TEXT"]
hit   = true

A test knows what it gives and nothing else: other counts are 0, other facts empty, 0, false, or
none where they may be unknown. The rule runs alone, with the conditions of the policy; what it asks
for by fired() was hit if the test says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oborona.errors import PolicyError
from oborona.policy.expression import CompiledRules, FactSchema, compile_rules
from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.schema import COUNT_READERS, PieceKind
from oborona.policy.expression.typed_piece import TypedPiece
from oborona.policy.rules import Condition, Rule, RuleTest
from oborona.reputation.share import spam_share
from oborona.toml import TomlPlace, did_you_mean, show
from oborona.types import Metric, RuleHit, Stage

NEAR: Final = 0.005  # scores are rounded to a hundredth before they are compared
NONE: Final = "none"
_NAME: Final = re.compile(r"\b[A-Z][A-Z0-9_]*\b")

_EMPTY: Final[Mapping[PieceKind, Any]] = {
    PieceKind.NUMBER: 0,
    PieceKind.CONDITION: False,
    PieceKind.TEXT: "",
    PieceKind.SET: frozenset(),
}


class FailedRuleTest(NamedTuple):
    """A test with another result than expected."""

    rule: str
    place: TomlPlace
    problem: str


class RuleTestCounts:
    """The counts of one direction in one test.

    Args:
        reader: what gives them, of `COUNT_READERS`.
        values: those that are given, by the code that reads them.
    """

    def __init__(self, reader: str, values: Mapping[str, Any]) -> None:
        self._reader = reader
        self._values = values

    def count(self, kind: int, window: int, metric: int) -> int | None:
        """Return one count."""
        answer: int | None = self._value(f"count({kind}, {int(window)}, {int(metric)})", 0)
        return answer

    def ham(self, kind: int, window: int) -> int | None:
        """Return what is given, else what the counts make."""
        seen, spam = self.count(kind, window, Metric.SEEN), self.count(kind, window, Metric.SPAM)
        ham = None if seen is None or spam is None else max(0, seen - spam)
        answer: int | None = self._value(f"ham({kind}, {int(window)})", ham)
        return answer

    def spam_share(self, kind: int, window: int) -> float | None:
        """Return what is given, else what the counts make."""
        seen, spam = self.count(kind, window, Metric.SEEN), self.count(kind, window, Metric.SPAM)
        share = None if seen is None or spam is None else spam_share(seen, spam)
        answer: float | None = self._value(f"spam_share({kind}, {int(window)})", share)
        return answer

    def _value(self, call: str, otherwise: object) -> Any:
        return self._values.get(f"{self._reader}.{call}", otherwise)


class RuleTestFacts(RuleTestCounts):
    """The facts of one test.

    Args:
        schema: all facts.
        values: those that are given, by the code that reads them.
    """

    def __init__(self, schema: FactSchema, values: Mapping[str, Any]) -> None:
        super().__init__(COUNT_READERS["count"], values)
        self.inbound = RuleTestCounts(COUNT_READERS["count_in"], values)
        self.outbound = RuleTestCounts(COUNT_READERS["count_out"], values)
        for fact in schema.facts:
            empty = None if fact.optional else _EMPTY[fact.kind]
            setattr(self, fact.attribute, values.get(f"f.{fact.attribute}", empty))
        for family in schema.families:
            empty = None if family.optional else _EMPTY[family.kind]
            of = {
                member: values.get(f"f.{family.attribute}[{member!a}]", empty)
                for member in family.members
            }
            setattr(self, family.attribute, of)

    def robotic(self, kind: int) -> float | None:
        """Return what is given."""
        answer: float | None = self._values.get(f"f.robotic({kind})")
        return answer

    def found(self, name: str) -> bool:
        """Tell whether a finding is given."""
        return bool(self._values.get(f"f.found({name!a})", name in getattr(self, "findings", ())))


def run_tests(
    compiled_rules: CompiledRules, conditions: Sequence[Condition]
) -> Iterator[FailedRuleTest]:
    """Yield the tests that fail; of rules that are switched off none is tried.

    Args:
        compiled_rules: of the whole policy.
        conditions: of the whole policy.
    """
    schema, rules = compiled_rules.schema, compiled_rules.rules
    names = dict.fromkeys((*compiled_rules.before, *(rule.name for rule in rules)), Stage.CONNECT)
    for rule in rules:
        if not rule.test or not rule.enabled:
            continue
        others = {name: stage for name, stage in names.items() if name != rule.name}
        compiled = compile_rules([rule], schema, _named(rule, conditions), others)
        for test in rule.test:
            try:
                case = RuleTestFacts(schema, _values(test, schema, others))
            except ExpressionFault as fault:
                yield FailedRuleTest(rule.name, test.place, fault.problem)
                continue
            before_it = [RuleHit(name=name, score=0.0) for name in test.fired]
            hits, errors = compiled.run(case, Stage.RECHECK, before_it)
            problem = "; ".join(errors) or _wrong(test, hits)
            if problem:
                yield FailedRuleTest(rule.name, test.place, problem)


def _named(rule: Rule, conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions that a rule may name, by way of others, too: to compile all for each
    rule takes most of the time.
    """
    by_name = {condition.name: condition for condition in conditions}
    found, open_texts = dict[str, Condition](), [f"{rule.when} {rule.score} {rule.say}"]
    while open_texts:
        for name in _NAME.findall(open_texts.pop()):
            if name in by_name and name not in found:
                found[name] = by_name[name]
                open_texts.append(by_name[name].when)
    return list(found.values())


def _wrong(test: RuleTest, hits: Sequence[RuleHit]) -> str:
    if bool(hits) is not test.hit:
        words = {True: "it fires", False: "it does not fire"}
        return f"expected that {words[test.hit]}, but {words[bool(hits)]}"
    if hits and test.score is not None and abs(hits[0].score - test.score) > NEAR:
        return f"expected a score of {test.score:g}, but it is {hits[0].score:g}"
    return ""


def _values(test: RuleTest, schema: FactSchema, others: Mapping[str, Stage]) -> dict[str, Any]:
    """Return what a test gives, by the code that reads it.

    Raises:
        Fault: no such fact, a value of another type, or nothing that can be hit.
    """
    for name in test.fired:
        if name not in others:
            raise ExpressionFault(f"fired: nothing that can be hit is called {name[:60]}")
    values: dict[str, Any] = {}
    for key, value in test.facts.items():
        loads = RuleLoads()
        try:
            piece = ExpressionChecker(schema, loads).check(key)
        except ExpressionFault as fault:
            raise ExpressionFault(f"facts: {fault.problem}") from None
        loaded = list(loads.facts.values())
        if len(loaded) != 1 or piece.code != loaded[0].local:
            raise ExpressionFault(
                f'facts: "{key[:60]}" is no fact; write "text.words" or "count[From].day.seen"'
            )
        values[loaded[0].code] = _value(key, value, piece)
    return values


def _value(key: str, value: Any, piece: TypedPiece) -> Any:
    if value == NONE and piece.optional:
        return None
    match piece.kind:
        case PieceKind.NUMBER:
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case PieceKind.CONDITION:
            fits = isinstance(value, bool)
        case PieceKind.TEXT:
            fits = isinstance(value, str)
        case _:
            fits = isinstance(value, list) and all(isinstance(member, str) for member in value)
    if not fits:
        more = f', or "{NONE}"' if piece.optional else ""
        raise ExpressionFault(f"facts: {key} = {show(value)}: it is {piece.kind}{more}")
    for word in value if isinstance(value, list) else (value,):
        if piece.words and word not in piece.words:
            guess = did_you_mean(word, piece.words)
            raise ExpressionFault(f"facts: {key} is never {show(word)}{guess}")
    if isinstance(value, list):
        return frozenset(map(piece.form.whole, value))
    # as a message's fact is written
    return piece.form.whole(value) if isinstance(value, str) else value


def failure(failed: FailedRuleTest) -> PolicyError:
    """Return a failed test as an error with its place."""
    place = failed.place
    return PolicyError(
        f"rule {failed.rule}: test: {failed.problem}",
        file=place.file,
        line=place.line,
        column=place.column,
    )
