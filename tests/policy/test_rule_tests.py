"""Tests beside a rule: what they know, when they fail, and what is said then."""

from pathlib import Path

import pytest

from oborona.errors import PolicyError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.rule_tests import failure, run_tests

RULE = """
[[condition]]
name = "NEW"
when = "count[From].fortnight.seen == 0"

[[rule]]
name = "LINKS_FROM_A_STRANGER"
when = "NEW and links > 3 and not fired(KNOWN_LIST) and (model.content > 0.5 or found('hidden-text'))"
score = "10 * links"

[[rule]]
name = "KNOWN_LIST"
when = "list_id == 'chess' or count[ListId].day.spam_share > 0.9"
score = -5

"""


def failures(folder: Path, tests: str) -> list[str]:
    text = RULE.replace("count[ListId]", "count[List]")
    first, second = text.split('[[rule]]\nname = "KNOWN_LIST"')
    (folder / "10.toml").write_text(f'{first}{tests}\n[[rule]]\nname = "KNOWN_LIST"{second}')
    policy = load_policy(folder, SCHEMA)
    return [str(failure(one)) for one in run_tests(policy.compiled, policy.conditions)]


def case(facts: str, rest: str) -> str:
    return f"[[rule.test]]\nfacts = {{ {facts} }}\n{rest}\n"


@pytest.mark.parametrize(
    "test",
    [
        case('links = 4, "model.content" = 0.9', "hit = true\nscore = 40"),
        case('links = 4, findings = ["hidden-text"]', "hit = true"),
        case("links = 4, \"found('hidden-text')\" = true", "hit = true"),
        case('links = 4, "model.content" = 0.9, "count[From].fortnight.seen" = 1', "hit = false"),
        case(
            'links = 4, "model.content" = 0.9, "count[From].fortnight.seen" = "none"', "hit = false"
        ),
        case('links = 4, "model.content" = "none"', "hit = false"),
        case('links = 4, "model.content" = 0.9', 'fired = ["KNOWN_LIST"]\nhit = false'),
        case("", "hit = false"),
        "[[rule.test]]\nhit = false\n",
    ],
)
def test_a_test_that_holds_says_nothing(tmp_path: Path, test: str) -> None:
    assert failures(tmp_path, test) == []


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (case("links = 4", "hit = true"), "expected that it fires, but it does not fire"),
        (case('links = 4, "model.content" = 0.9', "hit = false"), "expected that it does not fire, but it fires"),
        (
            case('links = 4, "model.content" = 0.9', "hit = true\nscore = 50"),
            "expected a score of 50, but it is 40",
        ),
        (case("link = 4", "hit = true"), "facts: unknown fact link; did you mean links?"),
        (case('links = "four"', "hit = true"), 'facts: links = "four": it is a number'),
        (case("links = true", "hit = true"), "facts: links = true: it is a number"),
        (case('"model.content" = "no"', "hit = true"), 'it is a number, or "none"'),
        (case('links = "none"', "hit = true"), 'facts: links = "none": it is a number'),
        (case('"spf.result" = "failed"', "hit = true"), 'facts: spf.result is never "failed"; did you mean fail?'),
        (case('findings = "hidden-text"', "hit = true"), "it is a set of texts"),
        (case('"links + 1" = 3', "hit = true"), '"links + 1" is no fact'),
        (case('"(" = 3', "hit = true"), "facts: "),
        (case('"1" = 3', "hit = true"), '"1" is no fact'),
        (case("links = 4", 'fired = ["NOBODY"]\nhit = true'), "nothing that can be hit is called NOBODY"),
    ],
)  # fmt: skip
def test_a_test_that_fails_says_where_and_what(tmp_path: Path, test: str, words: str) -> None:
    (said,) = failures(tmp_path, test)
    assert said.startswith(f"{tmp_path}/10.toml:11:1: rule LINKS_FROM_A_STRANGER: test: ")
    assert words in said


@pytest.mark.parametrize(
    ("test", "words", "line"),
    [
        ("[[rule.test]]\nfacts = { links = 4 }\n", "[[rule.test]]: hit is missing", 11),
        ("[[rule.test]]\nhit = 1\n", "hit = 1: not allowed; true or false", 12),
        ("[[rule.test]]\nhit = true\nfact = {}\n", "unknown key", 13),
        ("[[rule.test]]\nhit = true\nfacts = 3\n", "facts = 3: not allowed", 13),
        ("test = 3\n", "test = 3: not allowed; tables, each under [[rule.test]]", 11),
        ("test = [3]\n", "[[rule.test]] must be a table", 11),
    ],
)
def test_a_test_of_another_shape_is_refused_with_the_file(
    tmp_path: Path, test: str, words: str, line: int
) -> None:
    with pytest.raises(PolicyError) as refused:
        failures(tmp_path, test)
    assert words in str(refused.value)
    assert refused.value.line == line


def test_a_later_file_changes_the_rule_and_the_tests_stay(tmp_path: Path) -> None:
    test = case('links = 4, "model.content" = 0.9', "hit = true\nscore = 40")
    assert failures(tmp_path, test) == []
    (tmp_path / "90.toml").write_text('[[rule]]\nname = "LINKS_FROM_A_STRANGER"\nscore = 7\n')
    assert "expected a score of 40, but it is 7" in failures(tmp_path, test)[0]
    (tmp_path / "90.toml").write_text('[[rule]]\nname = "LINKS_FROM_A_STRANGER"\nenabled = false\n')
    assert failures(tmp_path, test) == []


def test_the_tests_that_ship_hold() -> None:
    policy = load_policy(Path(__file__).parents[2] / "etc/policy.d", SCHEMA)
    assert [str(failure(one)) for one in run_tests(policy.compiled, policy.conditions)] == []
