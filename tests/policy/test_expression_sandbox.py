"""Ways out of the language: none of these compiles, and what compiles reaches nothing."""

import builtins

import pytest

from oborona.errors import PolicyError
from oborona.policy.expression import CountedType, Fact, FactSchema, compile_rules
from oborona.policy.rules import Rule
from oborona.types import Stage
from tests.policy.small_schema import SCHEMA, facts

ATTACKS = [
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "subject.__class__.__mro__[1] == 1",
    "subject.upper() == 'X'",
    "subject.format(subject) == ''",
    "'{0.__class__}'.format(subject) == ''",
    "f'{subject}' == ''",
    "f'{subject.__class__}' == ''",
    "f == 1",
    "f.found('hidden-text')",
    "v0 == 1",
    "hits.append(1)",
    "errors",
    "H0(())",
    "NAMES",
    "failed('a', 1)",
    "divide(1, 0) == 0",
    "Exception",
    "(lambda: true)()",
    "(x := true)",
    "[x for x in (1, 2)]",
    "{x for x in (1, 2)}",
    "{x: 1 for x in (1, 2)}",
    "any(x for x in (1, 2))",
    "(yield)",
    "(yield from (1,))",
    "await true",
    "*(1, 2)",
    "min(*(1, 2)) == 1",
    "min(**{}) == 1",
    "{'a': 1}['a'] == 1",
    "{1, 2} == 1",
    "(1, 2)[0] == 1",
    "subject[::-1] == 'x'",
    "count[From][0].day.seen > 1",
    "count[From:From].day.seen > 1",
    "count[count[From]].day.seen > 1",
    "count.__class__[From].day.seen > 1",
    "getattr(subject, 'x') == 1",
    "any_of(link.hosts, it.__class__ == 1)",
    "any_of(link.hosts, Q0(it))",
    "any_of(subject.__class__.__subclasses__(), true)",
    "any_of(link.hosts, any_of(link.hosts, true))",
    "count_of(link.hosts, (it := 'x') == 'x') > 0",
    "fired(subject)",
    "fired(__import__)",
    "fired('X')",
    "live == 1",
    "every == 1",
    "t1 == 1",
    "P0('x')",
    "points(1) > 0",
    "within(subject, subject)",
    "octets(subject) == 1",
    "none.x == 1",
    "none() == 1",
    "hour('/etc/passwd') > 1",
    "hour('../tzdata') > 1",
    "robotic(count.__class__) > 1",
    "rate(count[From], subject) > 1",
    "distinct(subject) > 1",
    "10**8 > 1 and 'a' * 10**8 == ''",
    "any_of(('a',) * 10**8, true)",
    "eval('1') == 1",
    "exec('1')",
    "open('/etc/passwd') == 1",
    "globals() == 1",
    "9**9**9**9 > 1",
    "1 << 1000000000 > 1",
    "'a' * 10**9 == ''",
    "'a' 'b' * 999999999 == ''",
    "(1,) * 999999999 == 1",
    "1 @ 1 == 1",
    "~1 == 1",
    "1 if 1 else 1",
    "true; true",
    "true\nimport os",
    "import os",
    "true)\n(true",
    "true #)\n)(",
    "\uff53ubject == 'x'",
    "\u017fubject == 'x'",
    "text.word\u017f > 1",
    "count[\uff26rom].day.seen > 1",
    "count[From].\uff44ay.seen > 1",
    "subject._private == 1",
    "_ == 1",
    "\ud800 == 1",
    "true\x00",
    "true\x0c",
    "true\r or true",
    "'\\N{BULLET}' == 1 == '\\ud800'",
    "subject == u'\\ud800' == 5",
    "len('" + "a" * 3000 + "') > 1",
    "(" * 150 + "true" + ")" * 150 + " and " + "-" * 100 + "1",
    "[" * 500,
    "-" * 1900 + "1 > 0",
    "not " * 480 + "true",
    "1" + "+1" * 900 + "> 0",
    "9" * 1900 + " > 0",
    "0x" + "f" * 1900 + " > 0",
]


@pytest.mark.parametrize("when", ATTACKS, ids=lambda when: ascii(when[:40]))
def test_it_is_refused_with_a_place(when: str) -> None:
    with pytest.raises(PolicyError) as refused:
        compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA)
    assert refused.value.line >= 1
    assert refused.value.column >= 1
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("when", ATTACKS, ids=lambda when: ascii(when[:40]))
def test_it_is_refused_inside_braces_too(when: str) -> None:
    with pytest.raises(PolicyError):
        compile_rules([Rule(name="X", when="true", say="{" + when + " or 5 }", score=1.0)], SCHEMA)


def test_generated_code_sees_no_builtins() -> None:
    compiled = compile_rules([Rule(name="X", when="true", score=1.0)], SCHEMA)
    names = compiled._function.__globals__
    assert names["__builtins__"] == {}
    assert {"open", "eval", "exec", "getattr", "__import__", "compile"} <= set(dir(builtins))
    assert not {"open", "eval", "exec", "getattr", "__import__", "compile"} & set(names)


def test_quotes_and_line_ends_in_literals_stay_inside_them() -> None:
    text = "'\"\\\n]){}#\u2028é"
    when = (
        f"subject == {text!r} and subject in ({text!r}, 'x') and startswith(subject, ({text!r},))"
    )
    compiled = compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA)
    hits, errors = compiled.run(facts(subject=text), Stage.CONTENT)
    assert [hit.name for hit in hits] == ["X"]
    assert errors == []


def test_word_from_is_replaced_outside_texts_only() -> None:
    when = """from.domain != "from.domain" and '''from.''' == "from." and r'\\'from.x' != "_rom.x" # from.nothing"""
    compiled = compile_rules([Rule(name="X", when=when, score=1.0)], SCHEMA)
    assert "_rom" not in compiled.source.replace("'_rom.x'", "")
    assert compiled.run(facts(), Stage.CONTENT)[0]


@pytest.mark.parametrize(
    "name",
    [
        "Text",
        "text..x",
        "_x",
        "a.__class__",
        "text.from",
        "class.x",
        "count",
        "found",
        "true",
        "a b",
    ],
)
def test_a_schema_takes_only_names_of_the_language(name: str) -> None:
    with pytest.raises(ValueError, match=r"name|word|meaning"):
        Fact(name=name, type=int, stage=Stage.CONTENT, doc="")


def test_a_schema_refuses_names_that_meet() -> None:
    one = Fact(name="a.b", type=int, stage=Stage.CONTENT, doc="")
    other = Fact(name="a_b", type=int, stage=Stage.CONTENT, doc="")
    with pytest.raises(ValueError, match="two facts"):
        FactSchema(facts=(one, other))
    counted = CountedType(name="From", number=14, stage=Stage.CONTENT, doc="")
    with pytest.raises(ValueError, match="two shingle types"):
        FactSchema(counted=(counted, counted))
    with pytest.raises(ValueError, match="not a name"):
        CountedType(name="F rom", number=14, stage=Stage.CONTENT, doc="")
    with pytest.raises(KeyError):
        Fact(name="a.b", type=bytes, stage=Stage.CONTENT, doc="")  # type: ignore[arg-type]
