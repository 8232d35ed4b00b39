"""What expressions mean: each line is a condition that holds, or does not, for the facts of `small_schema`."""

import math
from typing import Any

import pytest

from oborona.errors import PolicyError
from oborona.policy.expression import FUNCTIONS, compile_rules
from oborona.policy.rules import Rule
from oborona.types import Mode, Stage
from tests.policy.small_schema import SCHEMA, facts


def fires(when: str, **changed: Any) -> bool:
    compiled = compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA)
    hits, errors = compiled.run(facts(**changed), Stage.CONTENT)
    assert errors == []
    return bool(hits)


@pytest.mark.parametrize(
    "when",
    [
        "true",
        "True",
        "not false",
        "text.words == 7",
        "5 < text.words <= 7",
        "text.words > 5 and recipients == 1 or false",
        "not (text.words > 5 and recipients > 1)",
        "text.words + 1 == 8 and text.words - 1 == 6 and text.words * 2 == 14",
        "text.words / 2 == 3.5 and text.words // 2 == 3 and text.words % 2 == 1",
        "-text.words == -7 and +text.words == 7",
        "text.words in (5, 6, 7) and text.words not in [1, -2]",
        "client.listed + (text.words > 5) + true == 2",
        "subject == 'Free tickets' and subject != 'x'",
        "'ticket' in subject and 'spam' not in subject",
        "subject in ('a', 'Free tickets')",
        "'www.example.com' in link.hosts and 'example.com' not in link.hosts",
        "subject not in link.hosts",
        "(text.words if recipients == 1 else 0) == 7",
        "from.domain == 'example.org'",
        "'from.domain' != from . domain",
        "len(subject) == 12 and len(link.hosts) == 2",
        "min(3, text.words, 9) == 3 and max(3, text.words) == 7 and abs(0 - text.words) == 7",
        "round(text.hidden_share) == 0 and round(2 / 3, 2) == 0.67",
        "lower(subject) == 'free tickets'",
        "contains(subject, 'tick') and contains(link.hosts, 'tickets') and not contains(link.hosts, 'spam')",
        "startswith(subject, 'Free') and startswith(link.hosts, ['ftp.', 'www.'])",
        "endswith(subject, ('x', 'ets')) and endswith(link.hosts, '.ru') and not endswith(link.hosts, '.cn')",
        r"matches(subject, r'(?i)^free\b') and not matches(subject, '^free') and matches(link.hosts, r'^tickets\.')",
        "found('hidden-text') and not found('listed-client')",
        "count[From].day.seen == 1420 and count[From].hour.traps == 1415 and count[ClientIp].recent.spam == 1501",
        "count[From].fortnight.complaints == 1432 and count[From].fortnight.pardons == 1433 and count[From].day.reads == 1424",
        "count[From].day.ham == 16 and count[From].day.spam_share > 0.14",
        "text.words > 5  # a comment",
        "\n  text.words > 5\n  # why\n  and recipients == 1\n",
        "text.words / (recipients - 1) == 0 and text.words // (recipients - 1) == 0 and text.words % (recipients - 1) == 0",
        "text.words / 0 == 0 and text.hidden_share % 0.0 == 0",
        "\"\"\"a\"\"\"  != '''b'''",
        "subject != 'é' and 'é' == 'é'",
    ],
)
def test_it_holds(when: str) -> None:
    assert fires(when)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300])
def test_floats_without_decimals_are_rounded_to_themselves(value: float) -> None:
    assert not fires("round(text.hidden_share) == 5", text_hidden_share=value)


def test_surrogates_in_a_text_are_matched_like_question_marks() -> None:
    assert fires(r"matches(subject, r'^a\?b$')", subject="a\ud800b")


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("text.words", "text.words is a number, not a condition; write text.words > 0"),
        ("subject", 'subject is a text, not a condition; write subject != ""'),
        ("link.hosts and true", "link.hosts is a set of texts, not a condition; write len(link.hosts) > 0"),
        ("not text.words", "text.words is a number"),
        ("1 if text.words else 2", "text.words is a number"),
        ("(1, 2)", "is a list, not a condition"),
        ("subject > 'a'", "a text is compared with == and !=, not with >"),
        ("subject == 5", "a text is never == a number"),
        ("client.listed == 1", "a condition (true or false) is never == a number"),
        ("link.hosts == link.hosts", "a set of texts is asked with in, not with =="),
        ("text.words in ('a',)", "a number is never in a list"),
        ("text.words in subject", "a number is never in a text"),
        ("link.hosts in subject", "a set of texts is never in a text"),
        ("subject + 'x' == 'y'", "+ takes a number"),
        ("'a' * 1000000000 == 'b'", "* takes a number"),
        ("'%d' % text.words == '7'", "% takes a number"),
        ("-subject == 1", "- takes a number"),
        ("('a', 1) == 1", "a list holds either numbers or texts"),
        ("text.words in (subject, 1)", "a list holds plain numbers and texts only"),
        ("text.words in (true, 1)", "a list holds plain numbers and texts only"),
        ("(subject if true else 1) == 1", "one side is a text, the other a number"),
        ("subject in (('a',) if true else ('b',))", "a list may not be chosen"),
        ("len(text.words) > 1", "len() takes a text or a set of texts, not a number"),
        ("min(1) > 0", "min() has 1 arguments; it is min(a, b, ...)"),
        ("round(1.5, text.words) > 1", "round() takes its decimals as a plain number, 0 to 9"),
        ("round(1.5, 10) > 1", "0 to 9"),
        ("round(1.5, true) > 1", "0 to 9"),
        ("startswith(subject, (1, 2))", "startswith() takes a list of texts"),
        ("contains(subject, piece='x')", "contains() takes no named arguments"),
        ("len", "len is a function; write len(...)"),
        ("found()", "found() takes the name of one finding in quotes"),
        ("found(subject)", "found() takes the name of one finding in quotes"),
        ("count[From].day > 1", "count[From] needs a window and a metric"),
        ("count[From].day.seen.x > 1", "count[From] needs a window and a metric"),
        ("count[From] > 1", "count[From] needs a window and a metric"),
        ("count > 1", "count is written count[TYPE].WINDOW.METRIC"),
        ("subject[0] == 'a'", "only count has an index"),
        ("text.words is 7", "write == instead of is"),
        ("text.words & 1 == 1", "write and instead of &"),
        ("1000000000000000000 > 1", "a number may be at most 1000000000000000"),
        ("1e999 > 1", "a number may be at most"),
        ("1j == 1", "only numbers, texts, true and false may stand here"),
        ("b'a' == 1", "only numbers, texts, true and false may stand here"),
        ("None == 1", "only numbers, texts, true and false may stand here"),
        ("... == 1", "only numbers, texts, true and false may stand here"),
        (f"subject == '{'a' * 501}'", "a text is 501 characters long; at most 500"),
        ("1" + "*1" * 9 + " > 0", "more than 8 multiplications"),
        ("true" + " and true" * 500, "is 4504 characters long; at most 2000"),
        ("1, 2", "1, 2 is a list, not a condition"),
        ("true) or (true", "unmatched ')'"),
        ("from > 1", "invalid syntax"),
        ("_rom.domain == ''", "names are written in plain ASCII letters"),
    ],
)
def test_it_is_refused(when: str, words: str) -> None:
    with pytest.raises(PolicyError) as refused:
        fires(when)
    assert words in refused.value.problem
    assert refused.value.line >= 1
    assert refused.value.column >= 1


def test_every_function_is_named_in_the_list_above() -> None:
    assert set(FUNCTIONS) == {
        "len", "min", "max", "abs", "round", "lower", "contains", "startswith", "endswith", "matches",
    }  # fmt: skip
    assert all(function.doc for function in FUNCTIONS.values())


def test_rules_run_from_the_stage_of_their_latest_fact() -> None:
    rules = [
        Rule(name="CONTENT", when="text.words > 1", score=1.0),
        Rule(name="CONNECT", when="client.ip != ''", score=1.0),
        Rule(name="COUNTED", when="count[ClientIp].day.seen > 1", score=1.0),
        Rule(name="SENDER", when="client.ip != '' and sender != ''", score=1.0),
        Rule(name="WORDS", when="client.ip != ''", say="{recipients}", score=1.0),
        Rule(name="FOUND", when="not found('listed-client')", score=1.0),
        Rule(name="LATE", when="true", stage=Stage.RECIPIENT, score=1.0),
    ]
    compiled = compile_rules(rules, SCHEMA)
    ran = {stage: [hit.name for hit in compiled.run(facts(), stage)[0]] for stage in Stage}
    assert ran[Stage.CONNECT] == ["CONNECT", "COUNTED", "FOUND"]
    assert ran[Stage.SENDER] == [*ran[Stage.CONNECT], "SENDER"]
    assert ran[Stage.RECIPIENT] == [*ran[Stage.SENDER], "WORDS", "LATE"]
    assert ran[Stage.CONTENT] == [*ran[Stage.RECIPIENT], "CONTENT"]
    assert compiled.stages["WORDS"] is Stage.RECIPIENT


def test_facts_of_later_stages_are_not_read() -> None:
    compiled = compile_rules([Rule(name="X", when="text.words > 1", score=1.0)], SCHEMA)
    assert compiled.run(object(), Stage.RECIPIENT) == ([], [])


def test_a_hit_carries_score_mode_and_words() -> None:
    rule = Rule(name="X", when="true", score=-2.5, say="{text.words} words", mode=Mode.SHADOW)
    (hit,), _ = compile_rules([rule], SCHEMA).run(facts(), Stage.CONTENT)
    assert (hit.name, hit.score, hit.mode, hit.say) == ("X", -2.5, Mode.SHADOW, "7 words")


def test_a_rule_switched_off_is_neither_run_nor_checked() -> None:
    compiled = compile_rules([Rule(name="X", when="no such language", score=1.0, enabled=False)], SCHEMA)
    assert compiled.run(facts(), Stage.CONTENT) == ([], [])


def test_a_fact_that_fails_stops_only_the_rules_that_name_it() -> None:
    def broken(_: str) -> bool:
        raise RuntimeError("x" * 10_000)

    rules = [
        Rule(name="BROKEN", when="found('hidden-text')", score=1.0),
        Rule(name="MISTYPED", when="text.words > 1", score=1.0),
        Rule(name="WORDS", when="true", say="{text.words // 2} of {recipients}", score=1.0),
        Rule(name="GOOD", when="recipients == 1", score=1.0),
    ]
    hits, errors = compile_rules(rules, SCHEMA).run(facts(found=broken, text_words="seven"), Stage.CONTENT)
    assert [hit.name for hit in hits] == ["GOOD", "WORDS"]  # by stage: its words need the text
    assert hits[1].say == "? of ?"
    assert [error.partition(":")[0] for error in errors] == ["found(hidden-text)", "BROKEN", "MISTYPED"]
    assert all(len(error) < 300 for error in errors)


def test_each_fact_is_read_once_for_all_rules() -> None:
    calls: list[tuple[int, ...]] = []

    def count(*arguments: int) -> int:
        calls.append(arguments)
        return 5

    rules = [
        Rule(name=f"R{number}", when=f"count[From].day.seen > {number}", score=1.0) for number in range(10)
    ]
    hits, _ = compile_rules(rules, SCHEMA).run(facts(count=count), Stage.CONTENT)
    assert len(hits) == 5
    assert calls == [(14, 2, 0)]
