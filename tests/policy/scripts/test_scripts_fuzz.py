"""Any text is a script or a PolicyError with its file.

Whatever a script does, a message is judged in bounded time and nothing is raised.
"""

import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.merge import merge
from oborona.policy.scripts.loader import LoadedScripts
from oborona.policy.scripts.source import source
from oborona.types import Stage
from tests.policy.scripts.made import FILE, facts, real

PIECES = st.sampled_from(
    ["oborona.rule", "oborona.check", "{", "}", "(", ")", "[", "]", "=", "==", "..", ".", ",", ";", ":", "::", "#", "-", "--", "--[[", "]]", "[==[", "+", "//",
     'name = "X"', "score = 1", 'name = "a-b"', "when = function()", "run = function()", "function()", "end", "return", "true", "false", "nil", "local",
     "x", "y", "x = 1", "local x =", "if", "then", "else", "for", "in", "while", "do", "repeat", "until", "break", "goto x", "::x::", "and", "or", "not",
     "facts", "facts.text", "facts.text.words", "facts.links.hosts", "facts['subject']", "facts[x]", "facts.none", "count", "found", "'From'", "'day'",
     "'seen'", "'hidden-text'", "matches", "capture", "captures", "contains", "pairs", "ipairs", "string", "('x'):rep", ":byte", ":sub", ":find",
     ":format", "table.concat", "table.sort", "table.unpack", "select", "tostring", "tonumber", "error", "assert", "_ENV", "...", "1", "0", "1e308",
     "-1", "'", '"', "'%s'", "'a'", "math.huge", "<close>", "<const>", "\n", "\\", "\0", "ж", "@", "!"]
)  # fmt: skip
LUA = st.lists(PIECES, max_size=30).map(" ".join)
EXPRESSIONS = st.recursive(
    st.sampled_from(["nil", "true", "1", "0.5", "'a'", "facts.text", "facts.text.words", "facts.links.hosts", "facts.model.content", "{}", "{1, 2}",
                     "math.huge", "0/0", "contains", "string", "facts.subject", "('x'):rep(1000)", "math.maxinteger"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "^", "..", "==", "<", "<=", "and", "or", "~=", "&", "<<", "~"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(st.sampled_from(["-", "not ", "#", "~"]), inner).map(lambda parts: f"({''.join(parts)})"),
        st.tuples(
            st.sampled_from(["contains", "startswith", "endswith", "matches", "capture", "captures", "count", "found", "tostring", "tonumber", "type", "pairs",
                             "ipairs", "select", "error", "assert", "string.rep", "string.format", "string.sub", "string.byte", "string.find", "string.char",
                             "table.concat", "table.sort", "table.unpack", "table.insert", "table.remove", "math.floor", "math.fmod", "utf8.char", "utf8.len",
                             "utf8.codes", "math.tointeger", "string.reverse"]),
            st.lists(inner, max_size=4),
        ).map(lambda parts: f"{parts[0]}({', '.join(parts[1])})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[{parts[1]}]"),
    ),
    max_leaves=12,
)  # fmt: skip


def put(raw: bytes) -> None:
    """Load it and judge with it; nothing but a PolicyError with the file is raised."""
    begun = time.process_time()
    refused: list[PolicyError] = []
    scripts = None
    try:
        loaded = LoadedScripts({FILE: raw}, SCHEMA)
        scripts = loaded.bound(merge([loaded.document(FILE)]).rules)
    except PolicyError as error:
        refused.append(error)
    assert all(error.file == FILE and error.problem for error in refused)
    if scripts is None:
        return
    for stage in (Stage.CONNECT, Stage.CONTENT):
        for subject in ("", "Free tickets"):
            judged = scripts.judge(facts(subject=subject, links_hosts=frozenset({"a", "b"})), stage)
            assert all(abs(hit.score) <= 1000 for hit in judged.hits)
            assert all(len(str(problem)) < 500 for problem in judged.problems)
    assert time.process_time() - begun < 10


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300, deadline=None)
@given(st.binary(max_size=200) | LUA.map(lambda text: f"{text}\n".encode()))
@example(b"\x1bLua\n")
@example(b"x = [" + b"[=" * 20_000 + b"\n")
@example(b"x = " + b"(" * 20_000 + b"\n")
@example(b"facts" + b".text" * 20_000 + b"\n")
@example(b"facts.text.words " * 7_000 + b"\n")
@example(b"goto x " * 15_000 + b"\n")
@example(b"local x <close> = facts.text\n")
def test_any_bytes_are_a_script_or_refused(raw: bytes) -> None:
    put(raw)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300, deadline=None)
@given(st.lists(LUA | EXPRESSIONS.map(lambda one: f"return {one}"), min_size=1, max_size=3))
def test_any_body_of_a_rule_is_bounded_and_raises_nothing(bodies: list[str]) -> None:
    put(
        "".join(
            real(f"do {body} end", name=f"R{number}") for number, body in enumerate(bodies)
        ).encode()
    )


@given(EXPRESSIONS)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300, deadline=None)
def test_any_expression_is_bounded_and_raises_nothing(expression: str) -> None:
    put(real(f"return {expression}").encode())


@given(LUA)
def test_reading_changes_no_line_and_nothing_but_names_of_facts(text: str) -> None:
    try:
        read = source(f"{text}\n".encode(), FILE, SCHEMA)
    except PolicyError:
        return
    assert read.text.count("\n") == text.count("\n") + 1
    if "facts" not in text:
        assert read.text == f"{text}\n"


@pytest.mark.parametrize("text", ["-- facts.none\n", "--[==[ facts.none\n ]==] local x = 1\n", "local s = 'facts.none \\' facts.x'\n",
                                  'local s = "\\z\n facts.none"\n', "local s = 'a\\\nfacts.none'\n", "local s = [[facts.none]]\n", "local x = {} x.facts = 1\n"])  # fmt: skip
def test_what_is_no_name_is_left_alone(text: str) -> None:
    assert source(text.encode(), FILE, SCHEMA).text == text
