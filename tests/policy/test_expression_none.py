"""What is unknown is none: it compares as false, makes none of what is calculated with it, and is
asked for by `== none`.
"""

from typing import Any

import pytest

from oborona.policy.expression import compile_rules
from oborona.policy.rules import Rule
from oborona.types import Stage
from tests.policy.small_schema import SCHEMA, facts


def fires(when: str, **changed: Any) -> bool:
    compiled = compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA)
    hits, errors = compiled.run(facts(**changed), Stage.CONTENT)
    assert errors == []
    return bool(hits)


ABSENT = [
    "model > 0.5",
    "model <= 0.5",
    "model == 0.5",
    "model != 0.5",
    "0 < model < 1",
    "0 < 1 < model",
    "model in (0.5, 1)",
    "model not in (0.5, 1)",
    "language == 'ru'",
    "language != 'ru'",
    "language not in ('ru', 'en')",
    "'r' in language",
    "'r' not in language",
    "language in link.hosts",
    "'x' not in friends",
    "signed",
    "signed == true",
    "signed != true",
    "model + 1 > 0",
    "-model < 1",
    "1 / model == 0",
    "min(model, 1) <= 1",
    "round(model, 2) >= 0",
    "abs(model) >= 0",
    "share(model, 1) >= 0",
    "share(1, model) >= 0",
    "log_odds(model) < 11",
    "len(language) >= 0",
    "len(friends) >= 0",
    "lower(language) != 'ru'",
    "contains(language, '')",
    "startswith(language, '')",
    "endswith(friends, ('', 'a'))",
    "matches(language, '.*')",
    "in_domains(language, 'example.org')",
    "any_of(friends, true)",
    "all_of(friends, true)",
    "count_of(friends, true) >= 0",
    "any_of(link.hosts, model > 0)",
    "(model if client.listed else 1) + model > 0",
    "(1 if model > 0 else model) > 0",
    "(none if text.words > 1 else 5) == 5",
    "robotic(count[ClientIp]) >= 0",
]


@pytest.mark.parametrize("when", ABSENT)
def test_what_is_unknown_compares_as_false(when: str) -> None:
    assert not fires(when)


@pytest.mark.parametrize(
    "when", [when for when in ABSENT if "robotic" not in when and "none" not in when]
)
def test_the_same_is_no_error_where_it_is_known(when: str) -> None:
    known = {"model": 0.5, "language": "ru", "signed": True, "friends": frozenset({"x"})}
    fires(when, **known)


@pytest.mark.parametrize(
    "when",
    [
        "model == none and none == language and signed == none and friends == none",
        "not (model != none)",
        "not (model > 0.5)",
        "model + 1 == none and len(language) == none and (1 if model > 0 else model) == none",
        "count[From].day.seen != none",
        "robotic(count[ClientIp]) == none and robotic(count[From]) != none",
        "(5 if model == none else model) == 5",
        "not signed",
        "model > 0.5 or text.words > 1",
        "hour() != none",
    ],
)
def test_it_is_asked_for(when: str) -> None:
    assert fires(when)


def test_counts_are_none_where_the_counters_are_away() -> None:
    away = {"count": lambda *_: None, "ham": lambda *_: None, "spam_share": lambda *_: None}
    for when in (
        "count[From].day.seen == 0",
        "count[From].fortnight.ham == 0",
        "count[From].day.spam_share < 0.9",
        "5 * count[From].hour.seen < 10",
        "trend(count[From]) < 2",
        "rate(count[From], 'day') < 2",
        "distinct('recipients per sender') < 2",
    ):
        assert not fires(when, **away)
        assert fires(f"not ({when})", **away)
    assert fires("count[From].day.seen == none and trend(count[From]) == none", **away)


def test_the_words_of_a_rule_say_none() -> None:
    rule = Rule(
        name="X", when="true", score=1.0, say="{model:.0%} {language} {model + 1:d} {signed}"
    )
    (hit,), errors = compile_rules([rule], SCHEMA).run(facts(), Stage.CONTENT)
    assert (hit.say, errors) == ("none none none none", [])


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -1e300, 1e300])
def test_a_time_outside_the_calendar_is_none(now: float) -> None:
    assert fires("hour() == none and weekday('Europe/Moscow') == none", time_now=now)
