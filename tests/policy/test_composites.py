"""Rules that name other rules, conditions with names, and scores by formula."""

import math
from typing import Any

import pytest

from oborona.errors import PolicyError
from oborona.policy.expression import compile_rules
from oborona.policy.rules import Condition, Rule
from oborona.types import RuleHit, RuleMode, Stage
from tests.policy.small_schema import SCHEMA, facts


def rule(name: str, when: str, **given: Any) -> Rule:
    return Rule(name=name, when=when, score=given.pop("score", 1.0), **given)


def hit_names(rules: list[Rule], *, before: tuple[RuleHit, ...] = (), **given: Any) -> list[str]:
    others = {hit.name: Stage.CONNECT for hit in before} | given.pop("others", {})
    compiled = compile_rules(rules, SCHEMA, given.pop("conditions", ()), others)
    hits, errors = compiled.run(facts(**given), Stage.CONTENT, before)
    assert errors == []
    return [hit.name for hit in hits]


def test_a_rule_may_stand_before_those_that_it_names() -> None:
    rules = [
        rule("BOTH", "fired(WORDS) and fired(FREE)"),
        rule("EITHER", "fired(NEVER) or fired(BOTH)"),
        rule("NEITHER", "not fired(WORDS) and not fired(FREE)"),
        rule("WORDS", "text.words == 7"),
        rule("FREE", "'Free' in subject"),
        rule("NEVER", "text.words > 100"),
    ]
    assert hit_names(rules) == ["WORDS", "FREE", "BOTH", "EITHER"]
    assert hit_names(rules, text_words=8) == ["FREE"]
    assert hit_names(rules, text_words=8, subject="") == ["NEITHER"]


def test_it_runs_from_the_stage_of_what_it_names() -> None:
    compiled = compile_rules([rule("BOTH", "fired(LATE)"), rule("LATE", "recipients == 1")], SCHEMA)
    assert compiled.stages == {"BOTH": Stage.RECIPIENT, "LATE": Stage.RECIPIENT}
    assert compiled.named[Stage.RECIPIENT] == {"recipients"}
    with pytest.raises(PolicyError, match='known from stage "recipient" on'):
        compile_rules(
            [rule("BOTH", "fired(LATE)", stage=Stage.CONNECT), rule("LATE", "recipients == 1")],
            SCHEMA,
        )


@pytest.mark.parametrize(
    ("rules", "around"),
    [
        ([rule("A", "fired(A)")], "A -> A"),
        ([rule("A", "fired(B)"), rule("B", "not fired(A)")], "A -> B -> A"),
        (
            [rule("A", "true or fired(B)"), rule("B", "true", say="{fired(C)}"), rule("C", "true", score="1 + fired(A)")],
            "A -> B -> C -> A",
        ),
    ],
)  # fmt: skip
def test_a_circle_is_refused_and_shown(rules: list[Rule], around: str) -> None:
    with pytest.raises(PolicyError) as refused:
        compile_rules(rules, SCHEMA)
    assert f"depends on itself: {around}" in refused.value.problem
    assert refused.value.line >= 1
    assert refused.value.column > 1


def test_a_circle_of_conditions_is_refused_too() -> None:
    conditions = [Condition(name="NEW", when="OLD"), Condition(name="OLD", when="not NEW")]
    with pytest.raises(PolicyError, match="NEW -> OLD -> NEW"):
        compile_rules([], SCHEMA, conditions)


def test_a_chain_that_nobody_follows_is_refused() -> None:
    chain = [rule(f"R{n}", f"fired(R{n + 1})") for n in range(40)] + [rule("R40", "true")]
    with pytest.raises(PolicyError, match="depends on more than 30 others"):
        compile_rules(chain, SCHEMA)
    assert len(compile_rules(list(reversed(chain)), SCHEMA).run(facts(), Stage.CONTENT)[0]) == 41


def test_what_is_on_trial_decides_nothing() -> None:
    trial = rule("TRIAL", "true", mode=RuleMode.SHADOW)
    live, shadow = (
        rule("LIVE", "fired(TRIAL)"),
        rule("SHADOW", "fired(TRIAL)", mode=RuleMode.SHADOW),
    )
    assert hit_names([live, shadow, trial]) == ["TRIAL", "SHADOW"]
    compiled = compile_rules([live, trial], SCHEMA)
    assert [warned.problem for warned in compiled.warnings] == [
        "rule LIVE names TRIAL, which is in shadow mode, which live rules do not see"
    ]


def test_a_rule_that_is_switched_off_never_fired() -> None:
    rules = [rule("X", "fired(OFF)"), rule("OFF", "no such language", enabled=False)]
    assert hit_names(rules) == []
    assert "switched off" in compile_rules(rules, SCHEMA).warnings[0].problem


def test_hits_of_lists_and_scripts_are_named_alike() -> None:
    before = (
        RuleHit(name="ZEN", score=5.0),
        RuleHit(name="TRIED", score=5.0, mode=RuleMode.SHADOW),
    )
    rules = [
        rule("ZEN_TOO", "fired(ZEN)"),
        rule("MANY", "any_of(link.hosts, fired(ZEN) and fired(ZEN_TOO))"),
        rule("LIVE", "fired(TRIED)"),
        rule("TRIAL", "fired(TRIED) and fired(ZEN)", mode=RuleMode.SHADOW),
    ]
    assert hit_names(rules, before=before) == ["ZEN_TOO", "TRIAL", "MANY"]
    names = {hit.name: Stage.CONNECT for hit in before}
    assert compile_rules(rules, SCHEMA, (), names).run(facts(), Stage.CONTENT)[0] == []


def test_a_name_is_known_from_its_stage_on() -> None:
    compiled = compile_rules([rule("X", "fired(LIST)")], SCHEMA, (), {"LIST": Stage.SENDER})
    assert compiled.stages["X"] is Stage.SENDER


def test_a_rule_that_fails_did_not_fire() -> None:
    rules = [rule("BROKEN", "text.words > 1"), rule("X", "not fired(BROKEN)")]
    hits, errors = compile_rules(rules, SCHEMA).run(facts(text_words="seven"), Stage.CONTENT)
    assert [hit.name for hit in hits] == ["X"]
    assert [error.partition(":")[0] for error in errors] == ["BROKEN"]


def test_a_condition_is_worked_out_once_for_all_rules() -> None:
    calls: list[tuple[int, ...]] = []

    def count(*arguments: int) -> int:
        calls.append(arguments)
        return 0

    conditions = [
        Condition(name="NEW_AND_SHORT", when="NEW and text.words < 10"),
        Condition(name="NEW", when="count[From].fortnight.seen == 0"),
    ]
    rules = [rule("A", "NEW"), rule("B", "NEW_AND_SHORT and not fired(C)"), rule("C", "not NEW")]
    assert hit_names(rules, conditions=conditions, count=count) == ["A", "B"]
    assert calls == [(14, 3, 0)]


def test_a_score_may_be_a_formula() -> None:
    rules = [
        rule("SUM", "true", score="2 * text.words + client.listed"),
        rule("NONE", "true", score="10 * model"),
        rule("LATE", "client.ip != ''", score="10 if text.words > 5 else -10", say="{text.words}"),
    ]
    compiled = compile_rules(rules, SCHEMA)
    hits, errors = compiled.run(facts(), Stage.CONTENT)
    assert {hit.name: hit.score for hit in hits} == {"SUM": 14.0, "NONE": 0.0, "LATE": 10.0}
    assert errors == []
    assert compiled.stages["LATE"] is Stage.CONTENT


@pytest.mark.parametrize(
    ("value", "score"), [(math.nan, 0.0), (math.inf, 1000.0), (-math.inf, -1000.0), (1e300, 1000.0), (2**70, 1000.0)]
)  # fmt: skip
def test_a_score_keeps_within_its_bounds(value: float, score: float) -> None:
    (hit,), errors = compile_rules([rule("X", "true", score="text.hidden_share")], SCHEMA).run(
        facts(text_hidden_share=value), Stage.CONTENT
    )
    assert (hit.score, errors) == (score, [])


@pytest.mark.parametrize(
    ("formula", "words"),
    [("subject", "score takes a number"), ("text.wrds", "unknown fact text.wrds"), ("", "the expression is empty")],
)  # fmt: skip
def test_a_formula_is_checked(formula: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        compile_rules([rule("X", "true", score=formula)], SCHEMA)


def test_a_condition_without_facts_that_never_holds_is_told() -> None:
    from oborona.toml import TomlPlace

    place = {"when": TomlPlace(file="a.toml", line=3, column=8)}
    rules = [rule("NEVER", "1 > 2", places=place), rule("ALWAYS", "true", places=place)]
    warned = compile_rules(rules, SCHEMA).warnings
    assert [(one.problem, one.place.line) for one in warned] == [
        ("NEVER can never hold: it names no fact, and is false", 3)
    ]
