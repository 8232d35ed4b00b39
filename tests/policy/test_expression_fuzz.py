"""Invariants of the language, for any text and any facts.

1. Any text as `when`, `say` or `score` becomes a compiled rule or a PolicyError with line and
   column; never anything else.
2. A compiled rule over facts of the right types (whole numbers as counters hold them, any
   fractions, any texts, none where that may be) never raises and reports no error; its words are
   one printable line of bounded length, its score lies within its bounds.
3. Facts of wrong types do not raise either: they are reported.
4. Any rules that name each other become compiled rules, or a PolicyError; a rule fires exactly if
   its condition holds.
5. The work is bounded: the longest expressions over the largest facts are done within a fraction of
   a second.
"""

import string
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.expression import MAX_SAID, compile_rules
from oborona.policy.rules import Condition, Rule
from oborona.types import RuleHit, Stage
from tests.policy.small_schema import SCHEMA, facts

TOKENS = st.sampled_from(
    [
        "client.ip", "client.listed", "from.domain", "subject", "text.words", "text.hidden_share", "link.hosts", "recipients",
        "count[From].day.seen", "count[ClientIp].hour.spam_share", "found('hidden-text')", "found(", "count[", "true", "false",
        "and", "or", "not", "in", "not in", "is", "if", "else", "lambda", "for", "==", "!=", "<", "<=", ">", "+", "-", "*", "/",
        "//", "%", "**", ":=", "=", "(", ")", "[", "]", "{", "}", "{{", ",", ".", ":", "!r", ":.2f", "'", '"', "'x'", 'r"\\d+"', "#", "\n",
        "none", "it", "model", "language", "friends", "signed", "any_of(link.hosts,", "all_of(friends,", "count_of(", "fired(X)", "fired(Y)", "hour(", "share(",
        "robotic(count[From])", "trend(count[From])", "rate(count[From], 'day')", "distinct('recipients per sender')", "in_networks(client.ip, '192.0.2.0/24')",
        "in_domains(from.domain, 'example.org')", "matches(it, 'x')", "NEW",
        "\\", "matches(subject, r'x+')", "len(", "min(", "round(", "lower(subject)", "0", "1", "1.5", "1e9", "0xff", "_", "é", "\u017f", "\ud800", "\0",
    ]
)  # fmt: skip
ANY_TEXT = st.one_of(
    st.text(max_size=80),
    st.text(string.printable, max_size=80),
    st.lists(TOKENS, max_size=30).map(" ".join),
    st.lists(TOKENS, max_size=30).map("".join),
)

COUNTER = st.integers(min_value=-(2**63), max_value=2**63)
TEXTS = st.text(max_size=20)
FACTS = st.fixed_dictionaries(
    {
        "client_ip": TEXTS,
        "client_listed": st.booleans(),
        "sender": TEXTS,
        "recipients": COUNTER,
        "from_domain": TEXTS,
        "subject": TEXTS | st.just("free " * 2000),
        "text_words": COUNTER,
        "text_hidden_share": st.floats(),
        "link_hosts": st.frozensets(TEXTS, max_size=5),
        "time_now": st.floats(),
        "model": st.none() | st.floats(),
        "language": st.none() | TEXTS,
        "signed": st.none() | st.booleans(),
        "friends": st.none() | st.frozensets(TEXTS, max_size=5),
        "count": st.sampled_from([lambda *_: None, lambda *_: 2**63 - 1, lambda *_: 0]),
        "robotic": st.sampled_from([lambda _: None, lambda _: 0.5]),
    }
)


CONDITIONS = [Condition(name="NEW", when="model == none and fired(Y)")]
BEFORE = {"Y": Stage.CONNECT}


def compiled_or_refused(when: str, say: str, score: str | float = 1.0) -> Any:
    try:
        return compile_rules(
            [Rule(name="X", when=when, say=say, score=score)], SCHEMA, CONDITIONS, BEFORE
        )
    except PolicyError as error:
        refused = error
    assert refused.line >= 1
    assert refused.column >= 1
    assert len(str(refused)) < 1000
    return None


@given(ANY_TEXT)
@example("'" * 1999)
@example("(" * 1999)
@example("from." * 399)
@example("\\\n" * 900)
def test_any_text_is_a_condition_or_refused_with_its_place(when: str) -> None:
    compiled = compiled_or_refused(when, "")
    if compiled is not None:
        assert compiled.run(facts(), Stage.CONTENT)[1] == []


@given(ANY_TEXT)
def test_any_text_is_a_score_or_refused_with_its_place(score: str) -> None:
    compiled = compiled_or_refused("true", "", score)
    if compiled is not None:
        (hit,), errors = compiled.run(facts(), Stage.CONTENT)
        assert errors == []
        assert -1000 <= hit.score <= 1000


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_is_a_say_or_refused_with_its_place(before: str, inside: str) -> None:
    for say in (before, inside, f"{before}{{{inside}}}"):
        compiled = compiled_or_refused("true", say)
        if compiled is not None:
            (hit,), errors = compiled.run(facts(), Stage.CONTENT)
            assert errors == []
            assert len(hit.say) <= MAX_SAID
            assert hit.say.isprintable()


def numbers(depth: int) -> st.SearchStrategy[str]:
    leaf = st.sampled_from(
        ["recipients", "text.words", "text.hidden_share", "count[From].day.seen", "count[From].day.spam_share", "len(subject)", "0", "model",
         "trend(count[From])", "rate(count[From], 'day')", "robotic(count[From])", "hour('Europe/Moscow')", "weekday()", "len(language)",
         "count_of(friends, it == subject or model > 0)", "share(model, recipients)", "distinct('recipients per sender')", "3", "0.0", "1e15", "-2.5", "(client.listed + 0)"]
    )  # fmt: skip
    if depth == 0:
        return leaf
    inner = numbers(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        inner.map(lambda text: f"round({text})"),
        inner.map(lambda text: f"round({text}, 3)"),
        inner.map(lambda text: f"abs({text})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"share({t[0]}, {t[1]})"),
        inner.map(lambda text: f"(none if signed else {text})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} > {t[2]} else {t[2]})"),
    )


def conditions(depth: int) -> st.SearchStrategy[str]:
    number = numbers(2)
    leaf = st.one_of(
        st.tuples(number, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), number, st.sampled_from(["<", ">="]), number).map(
            " ".join
        ),
        st.sampled_from(
            ["client.listed", "subject in link.hosts", "'a' in subject", "matches(subject, r'(a|b)+$')", "matches(link.hosts, 'x?')",
             "lower(subject) == from.domain", "endswith(link.hosts, ('a', ''))", "found('hidden-text')", "text.words in (1, 2.5)",
             "signed", "model == none", "language != 'a'", "subject in friends", "any_of(link.hosts, len(it) > recipients and it != language)",
             "all_of(friends, matches(it, 'a|b') or in_domains(it, 'example.org'))", "in_networks(client.ip, ('0.0.0.0/0', '::/0'))",
             "in_domains(link.hosts, 'a')", "matches(language, 'x')", "startswith(friends, ('a', 'b'))", "contains(language, subject)"]
        ),
    )  # fmt: skip
    if depth == 0:
        return leaf
    inner = conditions(depth - 1)
    return st.one_of(
        leaf,
        inner.map(lambda text: f"not {text}"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
    )


@settings(max_examples=200)
@given(
    conditions(2),
    numbers(3),
    st.sampled_from(["", ",", ".0%", ",.2f", "d", ",d", "g", ".3g", ".9f"]),
    FACTS,
)
def test_any_rule_over_any_facts_runs_without_a_fault(
    when: str, number: str, form: str, values: dict[str, Any]
) -> None:
    say = f"{{{number}:{form}}} {{subject}} {{link.hosts:.9s}} {{language}} {{friends}}"
    compiled = compiled_or_refused(f"{when} or true", say, number)
    if compiled is None:  # more multiplications, or a longer text, than allowed
        assert (when + number).count("*") > 0 or len(when + number) > 500
        return
    hits, errors = compiled.run(facts(**values), Stage.CONTENT)
    assert errors == []
    assert len(hits) == 1
    assert -1000 <= hits[0].score <= 1000
    assert len(hits[0].say) <= MAX_SAID
    assert hits[0].say.isprintable()


@given(
    conditions(1),
    st.dictionaries(
        st.sampled_from(["recipients", "subject", "link_hosts", "text_words", "found"]),
        st.none() | TEXTS,
    ),
)
def test_facts_of_wrong_types_are_reported_not_raised(when: str, values: dict[str, Any]) -> None:
    rules = [Rule(name="X", when=when, score=1.0), Rule(name="GOOD", when="true", score=1.0)]
    hits, errors = compile_rules(rules, SCHEMA).run(facts(**values), Stage.CONTENT)
    assert "GOOD" in [hit.name for hit in hits]
    assert all(len(error) < 400 for error in errors)


NAMES = [f"R{number}" for number in range(5)]
NODES = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "LIST", "true", "client.listed"]), max_size=3), max_size=5
)  # fmt: skip


@given(NODES, st.booleans(), st.sampled_from([(), (RuleHit(name="LIST", score=1.0),)]))
def test_rules_that_name_each_other_fire_as_they_say_or_go_round(
    nodes: dict[str, list[str]], listed: bool, before: tuple[RuleHit, ...]
) -> None:
    def asked(name: str) -> str:
        return name if name in ("true", "client.listed") else f"fired({name})"

    rules = [
        Rule(name=name, when=" and ".join(["true", *map(asked, named)]), score=1.0)
        for name, named in nodes.items()
    ]

    def holds(name: str, way: tuple[str, ...] = ()) -> bool:
        if name in way:
            raise RecursionError
        plain = {"true": True, "client.listed": listed, "LIST": bool(before)}
        if name in plain:
            return plain[name]
        every = [
            holds(one, (*way, name)) for one in nodes[name]
        ]  # all of them, or a way round would be missed
        return all(every)

    unknown = any(name not in nodes for named in nodes.values() for name in named if name in NAMES)
    try:
        compiled = compile_rules(rules, SCHEMA, (), {"LIST": Stage.CONNECT})
    except PolicyError as error:
        refused = error.problem
    else:
        hits, errors = compiled.run(facts(client_listed=listed), Stage.CONTENT, before)
        assert errors == []
        assert {hit.name for hit in hits} == {name for name in nodes if holds(name)}
        return
    if not unknown:
        assert "depends on itself" in refused
        with pytest.raises(RecursionError):
            [holds(name) for name in nodes]


HUGE = {
    "subject": "ab" * 32_768,
    "link_hosts": frozenset(f"h{number}.example.org" * 4 for number in range(20_000)),
    "recipients": 2**63 - 1,
    "text_words": 2**63 - 1,
    "text_hidden_share": 1e308,
}


@pytest.mark.parametrize(
    "when",
    [
        "any_of(link.hosts, " + " and ".join(["not matches(it, '(a|aa|aaa|b)+$')"] * 40) + ")",
        "count_of(link.hosts, " + " and ".join(["len(it) > 3"] * 100) + ") > 5",
        "matches(subject, '(a*)*(b|ab)*c') or matches(subject, '((a?){9}b){9}((a?){9}b){9}$')",
        " or ".join(["matches(subject, '(x+x+)+y')"] * 60),
        "recipients" + " * recipients" * 8 + " / text.words > text.hidden_share",
        "round(text.hidden_share * text.hidden_share, 9) % 3 // 7 > 1",
        "in_domains(link.hosts, (" + "'a.example'," * 100 + "))",
        "in_networks(subject, '0.0.0.0/0') or in_domains(subject, 'example.org')",
        "all_of(" + str(tuple(f"x{number}" for number in range(200))) + ", it != 'y')",
    ],
)  # fmt: skip
def test_the_longest_way_round_is_short(when: str) -> None:
    compiled = compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA)
    begin = time.process_time()
    _, errors = compiled.run(facts(**HUGE), Stage.CONTENT)
    assert time.process_time() - begin < 0.5
    assert errors == []
