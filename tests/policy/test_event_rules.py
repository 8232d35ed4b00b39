"""Rules over events in policy files: read, checked, tried, changed by later files."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest

from oborona.errors import PolicyError
from oborona.policy.event_columns import ColumnKind
from oborona.policy.event_logs import RuledLog, ruled_log
from oborona.policy.event_rules import EventPolicy
from oborona.policy.fact_table import SCHEMA
from oborona.policy.folders import PACKAGED
from oborona.policy.load import Policy, load_policy
from oborona.policy.own_event_logs import OWN_LOGS
from oborona.policy.rule_tests import failure
from oborona.types import RuleMode, Stage

CLICKS = RuledLog(
    name="CLICKS",
    columns={
        "agent": ColumnKind.TEXT,
        "price": ColumnKind.NUMBER,
        "tags": ColumnKind.SET,
        "client": ColumnKind.ADDRESS,
        "page": ColumnKind.HASHED,
    },
    events=("click", "show", "buy-now"),
)
LISTS = """
[[event_list]]
name = "ROBOTS"
entries = ["curl", "wget"]
"""
RULE = """
[[event_rule]]
name = "CHEAP_ROBOT"
log = "CLICKS"
when = "agent in ROBOTS and price < 2 and person.day[click] > 3"
say = "{agent} {person.day[click]:d} times"

[[event_rule.test]]
facts = { agent = "curl", price = 1, "person.day[click]" = 4 }
hit = true

[[event_rule.test]]
facts = { agent = "curl", "person.day[click]" = 4 }
hit = false
"""


def policy(folder: Path, text: str = RULE) -> Policy:
    (folder / "10.toml").write_text(f"# what is ours\n{LISTS}{text}\n")
    return load_policy(folder, SCHEMA, logs=[CLICKS])


def events(folder: Path, text: str = RULE) -> EventPolicy:
    return policy(folder, text).events


def one_rule(when: str) -> str:
    return f"\n[[event_rule]]\nname = 'ONE'\nlog = 'CLICKS'\nwhen = '''{when}'''\n"


class Row:
    """Facts of a row."""

    agent = "curl"
    price = 1.0
    person_day = MappingProxyType({"click": 4})


def test_a_rule_fires_and_says_why(tmp_path: Path) -> None:
    rules = events(tmp_path).by_log["CLICKS"]
    (hit,), failed = rules.compiled.run(Row(), Stage.CONNECT)
    assert (hit.name, hit.say, failed) == ("CHEAP_ROBOT", "curl 4 times", [])


def test_its_tests_are_tried(tmp_path: Path) -> None:
    assert list(events(tmp_path).failed_tests()) == []
    (failed,) = events(tmp_path, RULE.replace("hit = false", "hit = true")).failed_tests()
    told = failure(failed)
    assert "expected that it fires" in told.problem
    assert told.line == 17


def test_a_later_file_changes_what_it_gives(tmp_path: Path) -> None:
    first = policy(tmp_path)
    (tmp_path / "90.toml").write_text('[[event_rule]]\nname = "CHEAP_ROBOT"\nmode = "shadow"\n')
    changed = load_policy(tmp_path, SCHEMA, logs=[CLICKS])
    assert changed.events.rules[0].mode is RuleMode.SHADOW
    assert changed.version != first.version
    (tmp_path / "90.toml").write_text('[[event_list]]\nname = "ROBOTS"\nentries = ["curl"]\n')
    assert load_policy(tmp_path, SCHEMA, logs=[CLICKS]).version not in (
        first.version,
        changed.version,
    )
    (tmp_path / "90.toml").write_text('[[event_rule]]\nname = "CHEAP_ROBOT"\nwhy = "a note"\n')
    assert load_policy(tmp_path, SCHEMA, logs=[CLICKS]).version == first.version


def test_logs_and_lists_that_are_none_are_no_part_of_the_version(tmp_path: Path) -> None:
    (tmp_path / "10.toml").write_text("[verdict]\nspam_score = 100\n")
    assert b"event" not in load_policy(tmp_path, SCHEMA, logs=[CLICKS]).means


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ("agnet == 'curl'", "unknown fact agnet; did you mean agent"),
        ("event == 'klick'", "this is never"),
        ("person.day[klick] > 1", r"unknown person.day\[klick\]"),
        ("person.day > 1", r"person.day takes a name: person.day\[click\]"),
        ("person.day['buy'] > 1", "unknown person.day"),
        ("person.day[1] > 1", "takes a name"),
        ("person.distinct[price] > 1", "unknown person.distinct"),
        ("page == none", "unknown fact page"),
        ("price[click] > 1", "price has no index"),
        ("agent in NOBODY", "unknown fact NOBODY"),
        ("price in ROBOTS", "is never in"),
        ("price", "is a number, not a condition"),
        ("any_of(tags, it == 'a')", "not for rules over tables"),
        ("count_of(tags, it == 'a') > 1", "not for rules over tables"),
        ("in_domains(agent, 'example.org')", "not for rules over tables"),
        ("matches(tags, 'a')", "not looked for in a set"),
        ("contains(tags, agent)", "plain text in quotes"),
        ("contains(tags, 'a\\x1f')", r"U\+001F"),
        ("lower(agent) in tags", "without lower"),
        ("in_networks(agent, '192.0.2.0/24')", "declares as an address"),
        ("in_networks(client, ROBOTS)", "no network"),
        ("rate(count[From], 'day') > 1", "not for rules over tables"),
        ("count[From].day.seen > 1", "unknown shingle type"),
        ("found('hidden-text')", "not for rules over tables"),
        ("fired(MASS_TEXT)", "nothing that can be hit"),
        ("fired(ONE)", "depends on itself"),
        ("text.words > 1", "unknown fact"),
    ],
)
def test_what_no_table_has_is_refused_with_its_place(
    tmp_path: Path, when: str, problem: str
) -> None:
    with pytest.raises(PolicyError, match=problem) as caught:
        events(tmp_path, one_rule(when))
    assert caught.value.line == 10


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (RULE.replace('log = "CLICKS"\n', ""), "log is missing"),
        (RULE.replace("when =", "if ="), "if"),
        (RULE.replace("hit = true", "hot = true"), r"\[\[event_rule.test\]\]"),
        (RULE.replace("say =", "score = 5\nsay ="), "score"),
        (RULE + RULE, "already defined"),
        (RULE.replace("CHEAP_ROBOT", "ROBOTS"), "is the name of a event list already"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(PolicyError, match=problem) as caught:
        events(tmp_path, text)
    assert caught.value.line


def test_a_rule_over_a_log_that_is_not_known_is_kept_and_not_checked(tmp_path: Path) -> None:
    checked = policy(tmp_path)
    alone = load_policy(tmp_path, SCHEMA)
    assert [rule.name for rule in alone.events.rules] == ["CHEAP_ROBOT"]
    assert "CLICKS" not in alone.events.by_log
    assert alone.version == checked.version, "mail is judged alike whoever declares logs"
    (problem,) = alone.events.unchecked
    assert "no event log is called CLICKS" in problem.problem
    assert "a file eventlog.d/clicks.toml declares it" in problem.problem
    assert problem.line == 9
    with pytest.raises(PolicyError, match="CLICKS"):
        alone.events.refuse_unchecked()
    checked.events.refuse_unchecked()
    near = policy(tmp_path, RULE.replace('"CLICKS"', '"CLIKS"')).events.unchecked
    assert near[0].problem.endswith("did you mean CLICKS?")


def test_a_log_is_not_declared_in_the_policy(tmp_path: Path) -> None:
    table = '[[event_log]]\nname = "CLICKS"\ncolumns = { agent = "text" }\nevents = ["click"]\n'
    with pytest.raises(PolicyError, match=r"eventlog.d/NAME.toml beside oborona.toml") as caught:
        policy(tmp_path, RULE + table)
    assert caught.value.line


@pytest.mark.parametrize(
    "column", ["if", "person_gap", "a__b", "_a", "a_", "duplicate", "rules", "key", "none"]
)
def test_a_column_whose_name_means_something_else_is_not_named_by_rules(column: str) -> None:
    log = ruled_log("clicks", {column: ColumnKind.TEXT, "agent": ColumnKind.TEXT}, ("click",))
    assert (log.name, log.columns) == ("CLICKS", {"agent": ColumnKind.TEXT})


def test_all_columns_of_our_own_logs_may_be_named() -> None:
    for log in OWN_LOGS:
        assert ruled_log(log.name.lower(), log.columns, log.events) == log


def test_a_rule_over_days_is_none_of_tables_and_none_of_theirs_asks_for_it(tmp_path: Path) -> None:
    over = one_rule("person.day[click] > 1") + 'over = "day"\n'
    asking = one_rule("fired(ONE)").replace("'ONE'", "'TWO'")
    found = events(tmp_path, over + asking + 'over = "day"\n')
    assert [rule.name for rule in found.by_log["CLICKS"].rules] == ["ONE", "TWO"]
    assert [rule.name for rule in found.of_tables["CLICKS"].rules] == []
    assert found.of_tables["CLICKS"].compiled.named[Stage.CONNECT] == frozenset()
    with pytest.raises(PolicyError, match="nothing that can be hit") as caught:
        events(tmp_path, over + asking)
    assert caught.value.line
    with pytest.raises(PolicyError, match="over"):
        events(tmp_path, one_rule("price > 1") + 'over = "week"\n')


def test_all_faults_of_all_rules_are_told_at_once(tmp_path: Path) -> None:
    broken = one_rule("agnet == 'x'") + one_rule("prise > 1").replace("ONE", "TWO")
    with pytest.raises(PolicyError) as caught:
        events(tmp_path, broken)
    assert len(caught.value.more) == 1


def test_numbers_of_tables_are_doubles(tmp_path: Path) -> None:
    million = "1000000 * 1000000 * 1000000 * 1000000 * 1000000"
    rules = events(tmp_path, one_rule(f"{million} == {million} + 1")).by_log["CLICKS"]
    assert [hit.name for hit in rules.compiled.run(Row(), Stage.CONNECT)[0]] == ["ONE"]


def test_shipped_rules_are_right_and_each_has_a_hit_and_a_miss() -> None:
    shipped = load_policy(PACKAGED, SCHEMA).events
    assert list(shipped.failed_tests()) == []
    assert shipped.warnings == ()
    for rule in shipped.rules:
        assert {test.hit for test in rule.test} == {True, False}, rule.name
