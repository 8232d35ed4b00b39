"""What is remembered of rules never shows: whatever was compiled before, a set of rules gives the
same code, warnings and errors as it gives alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.expression import CompiledRules, RuleMemory, compile_rules
from oborona.policy.expression import rule_set as rule_sets
from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.typed_piece import TypedPiece
from oborona.policy.rules import Condition, Rule
from oborona.types import RuleMode, Stage
from tests.policy.small_schema import SCHEMA

NAMES = ("A", "B", "C")
BEFORE = {"LISTED": Stage.CONNECT}
WHENS = st.sampled_from(
    [
        "text.words > 1",
        "text.words > 2 and matches(subject, 'free')",
        "matches(subject, 'free') or contains(subject, 'win')",
        "any_of(link.hosts, matches(it, 'x') and text.words > 3)",
        "N and text.words > 1",
        "M",
        "fired(A)",
        "fired(B) and text.words > 1",
        "fired(LISTED)",
        "recipients / text.words > 0.5",
        "text.words >",  # broken
        "nothing.there > 1",
    ]
)
RULES = st.builds(
    Rule,
    name=st.sampled_from(NAMES),
    when=WHENS,
    score=st.sampled_from([1.0, 2.0, "recipients * 2", "recipients / text.words"]),
    say=st.sampled_from(["", "{recipients} of them", "{subject:.5s}"]),
    mode=st.sampled_from(RuleMode),
    enabled=st.sampled_from([True, True, True, False]),
)
CONDITIONS = st.builds(
    Condition,
    name=st.sampled_from(["N", "M"]),
    when=st.sampled_from(["text.words > 1", "fired(A)", "N"]),
)
SETS = st.tuples(
    st.lists(RULES, unique_by=lambda one: one.name, max_size=3),
    st.lists(CONDITIONS, unique_by=lambda one: one.name, max_size=2),
    st.sampled_from([{}, BEFORE, {"LISTED": Stage.CONTENT}]),
)
Set = tuple[Sequence[Rule], Sequence[Condition], dict[str, Stage]]


def said(of: Set, memory: RuleMemory | None) -> object:
    """Return all that can be told of a compiled set, or why it is refused."""
    rules, conditions, before = of
    try:
        compiled: CompiledRules = compile_rules(rules, SCHEMA, conditions, before, memory=memory)
    except PolicyError as error:
        return str(error)
    return compiled.source, compiled.warnings, compiled.stages, compiled.named, compiled.timelines


@settings(max_examples=300)
@given(st.lists(SETS, min_size=1, max_size=4))
def test_a_memory_changes_nothing(sets: list[Set]) -> None:
    memory = RuleMemory()
    for one in sets:
        assert said(one, memory) == said(one, None)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the rules that are checked."""
    names: list[str] = []

    class Noting(ExpressionChecker):
        def check_condition(self, text: str) -> TypedPiece:
            names.append(text)
            return super().check_condition(text)

    monkeypatch.setattr(rule_sets, "ExpressionChecker", Noting)
    return names


def test_only_what_changed_is_checked_again(checked: list[str]) -> None:
    memory = RuleMemory()
    one, other = (
        Rule(name="A", when="text.words > 1", score=1.0),
        Rule(name="B", when="fired(A)", score=1.0),
    )
    compile_rules([one, other], SCHEMA, memory=memory)
    assert checked == ["text.words > 1", "fired(A)"]
    checked.clear()
    compile_rules([one, other], SCHEMA, memory=memory)
    assert checked == []
    moved = Rule(name="A", when="text.words > 2", score=5.0)
    compiled = compile_rules([moved, other], SCHEMA, memory=memory)
    assert checked == ["text.words > 2"]
    assert "> 2" in compiled.source


def test_another_score_is_no_other_rule_and_counts_all_the_same(checked: list[str]) -> None:
    memory = RuleMemory()
    compile_rules([Rule(name="A", when="true", score=1.0)], SCHEMA, memory=memory)
    checked.clear()
    compiled = compile_rules([Rule(name="A", when="true", score=7.0)], SCHEMA, memory=memory)
    assert checked == []
    assert [hit.score for hit in compiled.run(object(), Stage.CONNECT)[0]] == [7.0]
