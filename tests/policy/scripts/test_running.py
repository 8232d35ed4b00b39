"""Scripts over many messages: what their functions give, and what becomes of one that fails again
and again.
"""

import pytest

from oborona.policy.scripts.scripts import MOST_FAILURES, PERIOD
from oborona.types import Finding, RuleHit, Stage
from tests.policy.scripts.made import facts, judged, loaded, real

BAD = real("local t = {} return t.x.y", name="BAD")
GOOD = 'oborona.rule { name = "GOOD", score = 1, when = function() return true end }\n'


@pytest.mark.parametrize(
    ("given", "hit"),
    [
        ("true", RuleHit(name="X", score=10)),
        ("true, 'more'", RuleHit(name="X", score=10, say="more")),
        ("true, 4", RuleHit(name="X", score=10, say="4")),
        ("true, {}", RuleHit(name="X", score=10)),
        ("0.25", RuleHit(name="X", score=2.5)),
        ("1", RuleHit(name="X", score=10)),
        ("7", RuleHit(name="X", score=10)),
        ("1/0", RuleHit(name="X", score=10)),
        ("0", None),
        ("-1", None),
        ("-1/0", None),
        ("false", None),
        ("nil", None),
        ("", None),
        ("false, 'more'", None),
    ],
)
def test_what_a_rule_gives(given: str, hit: RuleHit | None) -> None:
    found = judged(real(f"return {given}"))
    assert found.hits == (() if hit is None else (hit,))
    assert not found.problems


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        ("'seen'", Finding("a-b", "seen")),
        ("true", Finding("a-b")),
        ("true, 'more'", Finding("a-b", "more")),
        ("''", Finding("a-b")),
        ("false", None),
        ("nil", None),
    ],
)
def test_what_a_check_gives(given: str, finding: Finding | None) -> None:
    found = judged(f'oborona.check {{ name = "a-b", run = function() return {given} end }}\n')
    assert found.findings == (() if finding is None else (finding,))
    assert ("a-b" in found.facts.findings) == (finding is not None)


def test_words_are_one_printable_line_of_bounded_length() -> None:
    found = judged(
        real("return true, facts.subject"), subject="a\r\nX-Injected: 1\x07\u202e" + "b" * 500
    )
    (hit,) = found.hits
    assert hit.say.startswith("a  X-Injected: 1  bbb")
    assert len(hit.say) == 200
    (hit,) = judged(real("return true, facts.subject"), subject="ж" * 500).hits
    assert len(hit.say) == 200
    check = 'oborona.check { name = "a-b", run = function() return facts.subject end }\n'
    (finding,) = judged(check, subject="\n" * 10 + "x").findings
    assert "\n" not in finding.evidence


def test_a_function_that_fails_again_and_again_is_switched_off_and_that_is_said_once() -> None:
    scripts = loaded(BAD + GOOD)
    for number in range(1, MOST_FAILURES):
        (problem,) = scripts.judge(facts(), Stage.CONTENT).problems
        assert (
            str(problem) == "script 60-test.lua:4: BAD: attempt to index a nil value (field 'x')"
        ), number
    (problem,) = scripts.judge(facts(), Stage.CONTENT).problems
    assert problem.words.endswith(
        "; it failed on 10 of 10 messages, and is off until the policy is read again"
    )
    for _ in range(3):
        found = scripts.judge(facts(), Stage.CONTENT)
        assert not found.problems
        assert not found.findings
        assert [hit.name for hit in found.hits] == ["GOOD"]


def test_one_that_fails_now_and_then_goes_on() -> None:
    scripts = loaded(BAD)
    for number in range(3 * PERIOD):
        found = scripts.judge(facts(subject="" if number % (PERIOD // 5) else "x"), Stage.CONTENT)
        assert bool(found.problems) == (number % (PERIOD // 5) == 0)


def test_a_finding_names_the_first_that_failed() -> None:
    scripts = loaded("".join(real("error('x')", name=f"B{number}") for number in range(5)))
    found = scripts.judge(facts(), Stage.CONTENT)
    assert len(found.problems) == 5
    assert [(one.name, one.evidence) for one in found.findings] == [
        ("script-failed", "60-test.lua:4, 60-test.lua:9, 60-test.lua:14")
    ]


def test_the_same_message_gives_the_same_whatever_came_before() -> None:
    text = real(
        (
            "for k, host in pairs(facts.links.hosts) do if matches(host, 'b') then return "
            "0.5, host end end"
        ),
        before="local t = {x = {1}}",
    )
    scripts = loaded(text)
    one, other = (
        facts(links_hosts=frozenset({"a", "b1", "b2"})),
        facts(links_hosts=frozenset({"b3"})),
    )
    first = scripts.judge(one, Stage.CONTENT)
    scripts.judge(other, Stage.CONTENT)
    assert scripts.judge(one, Stage.CONTENT) == first == loaded(text).judge(one, Stage.CONTENT)


def test_functions_run_in_the_order_of_their_stage_and_file() -> None:
    text = "".join(
        (
            f'oborona.rule {{ name = "{name}", score = 1, stage = "{stage}", when = '
            f"function() return true end }}\n"
        )
        for name, stage in (("A", "content"), ("B", "connect"), ("C", "recheck"), ("D", "sender"))
    )
    scripts = loaded(text)
    assert [hit.name for hit in scripts.judge(facts(), Stage.CONNECT).hits] == ["B"]
    assert [hit.name for hit in scripts.judge(facts(), Stage.RECIPIENT).hits] == ["B", "D"]
    assert [hit.name for hit in scripts.judge(facts(), Stage.CONTENT).hits] == ["A", "B", "D"]
    assert [hit.name for hit in scripts.judge(facts(), Stage.RECHECK).hits] == ["A", "B", "C", "D"]
