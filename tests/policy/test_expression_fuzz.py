"""Invariants of the language, for any text and any facts.

1. Any text as `when` or `say` becomes a compiled rule or a PolicyError with line and column; never anything else.
2. A compiled rule over facts of the right types (whole numbers as counters hold them, any fractions, any texts)
   never raises and reports no error; its words are one printable line of bounded length.
3. Facts of wrong types do not raise either: they are reported.
"""

import string
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.expression import MAX_SAID, compile_rules
from oborona.policy.rules import Rule
from oborona.types import Stage
from tests.policy.small_schema import SCHEMA, facts

TOKENS = st.sampled_from(
    [
        "client.ip", "client.listed", "from.domain", "subject", "text.words", "text.hidden_share", "link.hosts", "recipients",
        "count[From].day.seen", "count[ClientIp].hour.spam_share", "found('hidden-text')", "found(", "count[", "true", "false",
        "and", "or", "not", "in", "not in", "is", "if", "else", "lambda", "for", "==", "!=", "<", "<=", ">", "+", "-", "*", "/",
        "//", "%", "**", ":=", "=", "(", ")", "[", "]", "{", "}", "{{", ",", ".", ":", "!r", ":.2f", "'", '"', "'x'", 'r"\\d+"', "#", "\n",
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
    }
)


def compiled_or_refused(when: str, say: str) -> Any:
    try:
        return compile_rules([Rule(name="X", when=when, say=say, score=1.0)], SCHEMA)
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
        ["recipients", "text.words", "text.hidden_share", "count[From].day.seen", "count[From].day.spam_share", "len(subject)", "0",
         "3", "0.0", "1e15", "-2.5", "(client.listed + 0)"]
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
             "lower(subject) == from.domain", "endswith(link.hosts, ('a', ''))", "found('hidden-text')", "text.words in (1, 2.5)"]
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
    conditions(2), numbers(3), st.sampled_from(["", ",", ".0%", ",.2f", "d", ",d", "g", ".3g", ".9f"]), FACTS
)
def test_any_rule_over_any_facts_runs_without_a_fault(
    when: str, number: str, form: str, values: dict[str, Any]
) -> None:
    compiled = compiled_or_refused(f"{when} or true", f"{{{number}:{form}}} {{subject}} {{link.hosts:.9s}}")
    if compiled is None:  # more multiplications than allowed
        assert (when + number).count("*") > 0
        return
    hits, errors = compiled.run(facts(**values), Stage.CONTENT)
    assert errors == []
    assert len(hits) == 1
    assert len(hits[0].say) <= MAX_SAID
    assert hits[0].say.isprintable()


@given(
    conditions(1),
    st.dictionaries(
        st.sampled_from(["recipients", "subject", "link_hosts", "text_words", "found"]), st.none() | TEXTS
    ),
)
def test_facts_of_wrong_types_are_reported_not_raised(when: str, values: dict[str, Any]) -> None:
    rules = [Rule(name="X", when=when, score=1.0), Rule(name="GOOD", when="true", score=1.0)]
    hits, errors = compile_rules(rules, SCHEMA).run(facts(**values), Stage.CONTENT)
    assert "GOOD" in [hit.name for hit in hits]
    assert all(len(error) < 400 for error in errors)
