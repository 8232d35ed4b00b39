"""What expressions mean: each line is a condition that holds, or does not, for the facts of
`small_schema`.
"""

import math
from typing import Any

import pytest

from oborona.errors import PolicyError
from oborona.policy.expression import REFERENCE, compile_rules
from oborona.policy.rules import Rule
from oborona.types import RuleMode, Stage
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
        "spf.result == 'pass' and spf.result not in ('fail', 'none') and 'pas' in spf.result",
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
        (
            "contains(subject, 'tick') and contains(link.hosts, 'tickets') and not "
            "contains(link.hosts, 'spam')"
        ),
        "startswith(subject, 'Free') and startswith(link.hosts, ['ftp.', 'www.'])",
        (
            "endswith(subject, ('x', 'ets')) and endswith(link.hosts, '.ru') and not "
            "endswith(link.hosts, '.cn')"
        ),
        (
            r"matches(subject, r'(?i)^free\b') and not matches(subject, '^free') and "
            r"matches(link.hosts, r'^tickets\.')"
        ),
        "found('hidden-text') and not found('listed-client')",
        (
            "count[From].day.seen == 1420 and count[From].hour.traps == 1415 and "
            "count[ClientIp].recent.spam == 1501"
        ),
        (
            "count[From].fortnight.complaints == 1432 and count[From].fortnight.pardons == "
            "1433 and count[From].day.reads == 1424"
        ),
        "count[From].day.ham == 16 and count[From].day.spam_share > 0.14",
        "text.words > 5  # a comment",
        "\n  text.words > 5\n  # why\n  and recipients == 1\n",
        (
            "text.words / (recipients - 1) == 0 and text.words // (recipients - 1) == 0 and "
            "text.words % (recipients - 1) == 0"
        ),
        "text.words / 0 == 0 and text.hidden_share % 0.0 == 0",
        "\"\"\"a\"\"\"  != '''b'''",
        "subject != 'é' and 'é' == 'é'",
        (
            "share(3, 4) == 0.75 and share(5, 4) == 1 and share(1, 0) == 0 and share(-1, 4) "
            "== 0 and share(1, -4) == 0"
        ),
        (
            "log_odds(0.5) == 0 and round(log_odds(0.9), 3) == 2.197 and round(log_odds(0.1), "
            "3) == -2.197"
        ),
        "log_odds(0) == -10 and log_odds(1) == 10 and log_odds(-3) == -10 and log_odds(7) == 10",
        (
            "any_of(link.hosts, endswith(it, '.ru') and len(it) > 10) and not "
            "any_of(link.hosts, len(it) > 99)"
        ),
        (
            "all_of(link.hosts, contains(it, 'example') and text.words == 7) and not "
            "all_of(link.hosts, it == subject)"
        ),
        (
            "any_of(link.hosts, matches(it, 'ru$') and matches(subject, '^Free') and "
            "in_domains(from.domain, 'example.org'))"
        ),
        "count_of(link.hosts, startswith(it, 'www')) == 1 and any_of(('a', 'bc'), len(it) == 2)",
        "not any_of((), it == 'a') and all_of((), it == 'a')",
        (
            "in_networks(client.ip, ('192.0.2.0/24', '2001:db8::/32')) and not "
            "in_networks(client.ip, '198.51.100.0/24')"
        ),
        (
            "in_networks('2001:db8::1', '2001:db8::/32') and in_networks('::ffff:192.0.2.7', "
            "'192.0.2.0/24')"
        ),
        "not in_networks(subject, '0.0.0.0/0') and not in_networks('2001:db8::1', '0.0.0.0/0')",
        (
            "in_domains(from.domain, 'example.org') and in_domains('a.b.EXAMPLE.org', "
            "('x.net', 'example.org'))"
        ),
        (
            "not in_domains('badexample.org', 'example.org') and not in_domains('org', "
            "'example.org') and not in_domains('', 'example.org')"
        ),
        (
            "in_domains(link.hosts, 'example.ru') and in_domains('ann@mail.example.org', "
            "'example.org')"
        ),
        (
            "in_domains('почта.пример.рф', 'пример.рф') and "
            "in_domains('xn--e1afmkfd.xn--p1ai', 'пример.рф')"
        ),
        (
            "hour() == 22 and hour('UTC') == 22 and hour('Asia/Tokyo') == 7 and weekday() == "
            "2 and weekday('Asia/Tokyo') == 3"
        ),
        (
            "rate(count[From], 'hour') == 1410 and rate(count[From], 'recent', 'spam') == "
            "8406 and rate(count[From], 'day') > 59"
        ),
        "round(trend(count[From]), 2) == round(1411 / (10 / 23 + 1), 2)",
        (
            "robotic(count[From]) == 0.7 and distinct('recipients per sender') == 3120 and "
            "distinct('recipients per sender', 'hour') == 3110"
        ),
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
        (
            "link.hosts and true",
            "link.hosts is a set of texts, not a condition; write len(link.hosts) > 0",
        ),
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
        ("found()", 'found() has 0 arguments; it is found("name")'),
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
        ("it == 'a'", "it stands for a member inside any_of()"),
        ("any_of(link.hosts, it)", "it is a text, not a condition"),
        ("any_of(link.hosts, any_of(link.hosts, true))", "any_of() inside another of its kind"),
        ("any_of(subject, it == 'a')", "any_of() takes a set of texts, not a text"),
        ("any_of((1, 2), it == 'a')", "any_of() takes a set of texts, not a list"),
        (
            "in_networks(client.ip, '192.0.2.1/24')",
            '"192.0.2.1/24" has bits set behind its length; the network is 192.0.2.0/24',
        ),
        ("in_networks(client.ip, subject)", "in_networks() takes a list of texts, or one"),
        ("in_networks(client.ip, (1, 2))", "in_networks() takes a list of texts, or one"),
        ("in_domains(from.domain, ())", "in_domains() takes a list of texts, or one"),
        ("in_domains(from.domain, '*.example.org')", "is no domain; write it as"),
        ("hour('Moscow') > 3", "unknown time zone"),
        ("hour('../../etc/passwd') > 3", "unknown time zone"),
        ("hour(subject) > 3", "hour() takes a time zone in quotes"),
        ("rate(count[From], 'week') > 1", "unknown window week"),
        ("rate(count[From], 'day', 'sen') > 1", "unknown metric sen"),
        ("rate(From, 'day') > 1", "rate() takes a shingle type: count[From]"),
        ("trend(count[Frm]) > 1", "unknown shingle type Frm"),
        ("robotic(count[From].day.seen) > 0.9", "robotic() takes a shingle type: count[From]"),
        ("distinct('recipients') > 1", 'unknown "recipients"'),
        ("fired(NOBODY)", "nothing that can be hit is called NOBODY"),
        ("fired('X')", "fired() takes a name, without quotes"),
        ("fired(X)", "depends on itself: X -> X"),
        ("X", "X can be hit; write fired(X)"),
        ("text.words == none", "this is never none"),
        ("model > none", "none is asked for with == none"),
        ("none < model < none", "none is asked for with == none"),
        ("model == none == language", "none is asked for with == none"),
        ("none", "none is none, not a condition"),
        ("none + 1 == 2", "+ takes a number"),
        ("_rom.domain == ''", "names are written in plain ASCII letters"),
        (
            "spf.result == 'failed'",
            'this is never "failed"; it is one of none, pass, fail, temperror',
        ),
        ("'none' != spf.result != 'FAIL'", 'this is never "FAIL"'),
        ("spf.result in ('fail', '')", 'this is never ""'),
        ("'soft' in spf.result", 'this is never "soft"'),
        ("text.words > 3 && recipients > 1", "write and instead of &&"),
        ("text.words > 3 OR recipients > 1", "write or instead of OR"),
        ("!client.listed", "write not instead of !"),
        ("subject <> '<>'", "write != instead of <>"),
        ("count[from].day.seen > 1", "write [From] instead of [from]"),
    ],
)
def test_it_is_refused(when: str, words: str) -> None:
    with pytest.raises(PolicyError) as refused:
        fires(when)
    assert words in refused.value.problem
    assert refused.value.line >= 1
    assert refused.value.column >= 1


def test_every_function_is_named_in_the_list_above() -> None:
    assert set(REFERENCE) == {
        "len", "min", "max", "abs", "round", "lower", "contains", "startswith", "endswith", "matches", "share", "log_odds", "in_networks", "in_domains",
        "found", "fired", "any_of", "all_of", "count_of", "rate", "trend", "robotic", "distinct", "hour", "weekday",
    }  # fmt: skip
    assert all(function.doc for function in REFERENCE.values())


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
    rule = Rule(name="X", when="true", score=-2.5, say="{text.words} words", mode=RuleMode.SHADOW)
    (hit,), _ = compile_rules([rule], SCHEMA).run(facts(), Stage.CONTENT)
    assert (hit.name, hit.score, hit.mode, hit.say) == ("X", -2.5, RuleMode.SHADOW, "7 words")


def test_a_rule_switched_off_is_neither_run_nor_checked() -> None:
    compiled = compile_rules(
        [Rule(name="X", when="no such language", score=1.0, enabled=False)], SCHEMA
    )
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
    hits, errors = compile_rules(rules, SCHEMA).run(
        facts(found=broken, text_words="seven"), Stage.CONTENT
    )
    assert [hit.name for hit in hits] == ["GOOD", "WORDS"]  # by stage: its words need the text
    assert hits[1].say == "? of ?"
    assert [error.partition(":")[0] for error in errors] == [
        "found(hidden-text)",
        "BROKEN",
        "MISTYPED",
    ]
    assert all(len(error) < 300 for error in errors)


def test_each_fact_is_read_once_for_all_rules() -> None:
    calls: list[tuple[int, ...]] = []

    def count(*arguments: int) -> int:
        calls.append(arguments)
        return 5

    rules = [
        Rule(name=f"R{number}", when=f"count[From].day.seen > {number}", score=1.0)
        for number in range(10)
    ]
    hits, _ = compile_rules(rules, SCHEMA).run(facts(count=count), Stage.CONTENT)
    assert len(hits) == 5
    assert calls == [(14, 2, 0)]
