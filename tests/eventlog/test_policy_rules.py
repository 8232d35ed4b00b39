"""Rules of the policy over tables: what they say of persons, as the policy changes, and when it
can't be used.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from oborona.errors import PolicyError
from oborona.eventlog.log_metrics import MARKED, ROWS, TROUBLE, WAITING, status_of
from oborona.eventlog.policy_rules import PolicyRules
from oborona.eventlog.replay import RuleReplay
from oborona.eventlog.schema import LogColumn
from oborona.eventlog.slots import SLOT_S, slot_name
from oborona.policy.event_columns import ColumnKind
from oborona.policy.folders import PolicyFolders
from tests.eventlog.worlds import CLICKS, ENGINE, START, CheckedLog, opened_log

NOTHING = "# nothing\n"
RULES = """
[[event_rule]]
name = "MANY"
log  = "CLICKS"
when = "event == 'click' and person.day[click] > 2"
say  = "{person.day[click]:d}"

[[event_rule]]
name = "FAST"
log  = "CLICKS"
when = "person.gap != none and person.gap < 2"
say  = "fast"

[[event_rule]]
name = "PAGES"
log  = "CLICKS"
when = "person.distinct[page] > 1 and not duplicate"
say  = "pages"
mode = "shadow"

[[event_rule]]
name = "DEAR"
log  = "CLICKS"
when = "amount > 10 and not person.abnormal"
say  = "dear"
"""
EARLIER, LATER = slot_name(START - SLOT_S), slot_name(START)


def row(number: int, at: float, person: int | None, **more: object) -> dict[str, object]:
    """Return an event."""
    return {
        "id": number, "time": int((START + at) * 1e6), "event": "click", "person": person,
        "key": number, "page": "a", "amount": None,
    } | more  # fmt: skip


class RuledLog:
    """A log that is checked by the rules of a policy."""

    def __init__(self, folder: Path, log: CheckedLog, rules: PolicyRules) -> None:
        self.file = folder / "50-events.toml"
        self.log = log
        self.rules = rules


@contextmanager
def ruled(tmp_path: Path, text: str = RULES) -> Iterator[RuledLog]:
    """Open a log with a policy."""
    folder = tmp_path / "policy.d"
    folder.mkdir(exist_ok=True)
    (folder / "50-events.toml").write_text(text)
    rules = PolicyRules(PolicyFolders.of(folder), [CLICKS], ENGINE)
    with ExitStack() as closings:
        log = closings.enter_context(opened_log(tmp_path, rules=lambda: rules.of("clicks")))
        yield RuledLog(folder, log, rules)


def test_rules_know_what_a_person_did_in_earlier_tables(tmp_path: Path) -> None:
    with ruled(tmp_path) as site:
        site.log.deliver(EARLIER, [row(1, -200, 7), row(2, -100, 7, page="b"), row(3, -90, 8)])
        site.log.check()
        assert site.log.rules(EARLIER) == [[], [], []]
        site.log.deliver(
            LATER,
            [
                row(4, 0, 7, amount=50.0),
                row(5, 1, 7),
                row(6, 1, 8, event="show"),
                row(7, 2, None, amount=11.0),
                row(4, 300, 7, key=4),  # told twice, under the same id
            ],
        )
        site.log.check()
        assert site.log.rules(LATER) == [
            ["MANY", "DEAR"],
            ["MANY", "FAST"],
            [],
            ["DEAR"],
            ["DUPLICATE", "MANY"],
        ]
        checked = {table.name: table.fired for table in site.log.store.checked("clicks")}
    assert checked[LATER]["PAGES (shadow)"] == 2, "of the three of person 7 one is told twice"
    assert checked[LATER]["MANY"] == 3


def test_a_policy_that_changes_is_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ruled(tmp_path, NOTHING) as site:
        site.log.deliver(EARLIER, [row(1, -200, 7, amount=20.0)])
        site.log.check()
        site.rules.follow()
        site.file.write_text(RULES)
        site.rules.follow()
        site.log.deliver(LATER, [row(2, 0, 7, amount=20.0)])
        site.log.check()
        assert (site.log.rules(EARLIER), site.log.rules(LATER)) == ([[]], [["DEAR"]])
        with caplog.at_level(logging.ERROR, "oborona.eventlog"):
            site.file.write_text(RULES.replace("amount > 10", "amuont > 10"))
            site.rules.follow()
        assert "the last event rules stay in force" in caplog.text
        assert "amuont" in str(vars(caplog.records[-1]))
        assert "DEAR" in site.rules.of("clicks").live
        site.file.write_text(RULES.replace("amount > 10", "amount > 1"))
        site.rules.follow()
        site.log.deliver(slot_name(START + SLOT_S), [row(3, SLOT_S, 9, amount=2.0)])
        site.log.check()
        assert site.log.rules(slot_name(START + SLOT_S)) == [["DEAR"]]


def test_a_policy_folder_that_is_gone_leaves_the_rules_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ruled(tmp_path) as site, caplog.at_level(logging.ERROR, "oborona.eventlog"):
        site.file.unlink()
        site.file.symlink_to(tmp_path / "nowhere")
        site.rules.follow()
        site.rules.follow()
        assert "DEAR" in site.rules.of("clicks").live
        assert caplog.text.count("the last event rules stay in force") == 1
        site.file.unlink()
        site.file.write_text(NOTHING)
        site.rules.follow()
        assert site.rules.of("clicks").live == ()


def test_rules_are_checked_against_the_log_as_it_is_declared(tmp_path: Path) -> None:
    other = RULES.replace("amount > 10", "leaf == 'a'")
    with pytest.raises(PolicyError, match="unknown fact leaf"), ruled(tmp_path, other):
        pass  # it has begun


def test_a_rule_over_a_log_that_nobody_declares_is_told_and_looks_at_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = RULES.replace('"DEAR"\nlog  = "CLICKS"', '"DEAR"\nlog  = "SHOWS"')
    with caplog.at_level(logging.WARNING, "oborona.eventlog"), ruled(tmp_path, text) as site:
        assert site.rules.of("clicks").live == ("MANY", "FAST")
    assert "an event rule looks at no row" in caplog.text
    assert "no event log is called SHOWS" in str(vars(caplog.records[0]))


def test_another_declaration_is_another_version_of_the_rules(tmp_path: Path) -> None:
    with ruled(tmp_path) as site:
        folders = PolicyFolders.of(site.file.parent)
        columns = (*CLICKS.columns, LogColumn("agent", ColumnKind.TEXT))
        versions = [
            PolicyRules(folders, [one], ENGINE).of("clicks").version
            for one in (
                CLICKS,
                CLICKS,
                msgspec.structs.replace(CLICKS, columns=columns),
                msgspec.structs.replace(CLICKS, events=("click", "show", "buy")),
            )
        ]
        site.file.write_text(NOTHING)
        without = PolicyRules(folders, [CLICKS], ENGINE).of("clicks").version
    assert versions[0] == versions[1]
    assert len({*versions}) == 3
    assert " " not in without, "nothing hangs on it"


def test_without_kinds_of_events_rules_count_none_by_its_kind(tmp_path: Path) -> None:
    log = msgspec.structs.replace(CLICKS, events=())
    folder = tmp_path / "policy.d"
    folder.mkdir()
    file = folder / "50-events.toml"
    file.write_text(RULES[RULES.index('[[event_rule]]\nname = "FAST"') :])
    rules = PolicyRules(PolicyFolders.of(folder), [log], ENGINE)
    with opened_log(tmp_path, rules=lambda: rules.of("clicks"), schema=log) as checked:
        checked.deliver(EARLIER, [row(1, -200, 7, amount=20.0), row(2, -199, 7, event="odd")])
        checked.check()
        assert checked.rules(EARLIER) == [["DEAR"], ["FAST"]]
    file.write_text(RULES)
    with pytest.raises(PolicyError, match=r"unknown person.day\[click\]"):
        PolicyRules(PolicyFolders.of(folder), [log], ENGINE)


def test_a_log_without_rules_has_those_of_the_system(tmp_path: Path) -> None:
    with ruled(tmp_path, NOTHING) as site:
        site.log.deliver(EARLIER, [row(1, -200, 7), row(2, -100, 7, key=1)])
        site.log.check()
        assert site.log.rules(EARLIER) == [[], ["DUPLICATE"]]


def test_a_replay_says_what_other_rules_would_have_caught(tmp_path: Path) -> None:
    with ruled(tmp_path) as site:
        site.log.deliver(EARLIER, [row(1, -200, 7), row(2, -100, 7), row(3, -90, 8)])
        site.log.check()
        later = [row(4, 0, 7, amount=50.0), row(5, 100, 8), row(4, 200, 7, key=4)]
        site.log.deliver(LATER, later)
        site.log.check()
        checked = [site.log.rules(name) for name in (EARLIER, LATER)]
        before = site.rules.of("clicks")
        site.file.write_text(
            RULES.replace("person.day[click] > 2", "person.day[click] > 1").replace(
                "amount > 10", "duplicate"
            )
        )
        site.rules.follow()
        engine, store = site.log.engine, site.log.store
        replay = RuleReplay(CLICKS, site.log.folder, store, engine)
        found = replay.compare(before, site.rules.of("clicks"), START)
        assert found.rows == 3, "of the later table; the earlier one is its day"
        assert {rule.name: rule[1:] for rule in found.rules if rule.gained or rule.lost} == {
            "DEAR": (1, 1, 1, 1),
            "MANY": (2, 3, 1, 0),
        }
        assert (found.persons_new, found.persons_lost) == ((8,), ())
        assert [(example.id, example.before, example.after) for example in found.examples] == [
            (4, ("DEAR", "MANY"), ("MANY",)),
            (4, ("MANY",), ("DEAR", "MANY")),
            (5, (), ("MANY",)),
        ]
        whole = replay.compare(before, before, START - 10 * SLOT_S)
        assert (whole.rows, whole.changed) == (6, 0)
        marked = {rule.name: rule.before for rule in whole.rules}
        names = [name for table in checked for fired in table for name in fired]
        assert all(names.count(name) == marked[name] for name in before.live), "as it was checked"
        nothing = replay.compare(before, before, START + 10 * SLOT_S)
        assert (nothing.rows, nothing.changed) == (0, 0)


def test_what_was_checked_is_counted(tmp_path: Path) -> None:
    before = ROWS.value("clicks")
    with ruled(tmp_path) as site:
        site.log.deliver(LATER, [row(1, 0, 7, amount=50.0), row(2, 1, 7), row(2, 2, 7, key=2)])
        site.log.check()
        said = status_of(site.log.store, ["clicks"], {"clicks": "no room"}, START)
    assert ROWS.value("clicks") - before == 3
    assert MARKED.value("clicks", "DUPLICATE") >= 1
    assert WAITING.value("clicks") == 0
    assert TROUBLE.value("clicks") == 1
    assert said.troubles == {"clicks": "no room"}
