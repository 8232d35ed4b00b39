"""Days of a log judged by other rules into a table beside: the delivered day stays as it is."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from oborona.errors import StoreError
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook
from oborona.eventlog.daily.backfill import LogBackfill
from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.policy_rules import EventRules, PolicyRules
from oborona.eventlog.rule_names import FRAUD_PERSON
from oborona.eventlog.rules.compare import ComparedRule
from oborona.eventlog.slots import SLOT_S, slot_name, slot_start
from oborona.eventlog.tables.parquet import read_table
from oborona.policy.folders import PolicyFolders
from tests.eventlog.erasing_program import eraser
from tests.eventlog.test_command import oborona, site
from tests.eventlog.test_day_pass import DATE, DUE, PassedLog, row
from tests.eventlog.worlds import CLICKS, ENGINE, NO_RULES, opened_log

__all__ = ["site"]

RULES = """
[[event_rule]]
name = "CLICKED"
log  = "CLICKS"
when = "event == 'click'"
say  = "a click"

[[event_rule]]
name = "SHOWS"
log  = "CLICKS"
when = "person.day[show] > 3"
say  = "many shows"
mode = "shadow"
over = "day"
"""


@pytest.fixture
def passed(tmp_path: Path) -> Iterator[PassedLog]:
    """A log without rules of a policy."""
    with opened_log(tmp_path) as log:
        yield PassedLog(log, tmp_path, lambda: NO_RULES)


def rules_of(tmp_path: Path, text: str = RULES) -> EventRules:
    folder = tmp_path / "other.d"
    folder.mkdir(exist_ok=True)
    (folder / "50-events.toml").write_text(text)
    return PolicyRules(PolicyFolders.of(folder), [CLICKS], ENGINE).of_day("clicks")


def backfill_of(passed: PassedLog, tmp_path: Path) -> LogBackfill:
    log, work = passed.log, tmp_path / "work"
    return LogBackfill(CLICKS, log.folder, log.store, log.engine, work=work, scores=passed.scores)


def test_a_day_is_judged_afresh_and_stays_as_it_was(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver(
        [row(n, n, 7) for n in range(5)],
        [row(9, 9, 8, event="click"), row(10, 4, 7, key=0, event="show"), row(11, 12, 9)],
    )
    passed.now = DUE
    passed.go_over()
    given = passed.given_out()
    found = backfill_of(passed, tmp_path).judge(DATE, rules_of(tmp_path), "march")
    assert passed.given_out() == given
    table = read_table(passed.log.folder.side("march", DATE))
    rules = {one["id"]: one["rules"] for one in table.to_pylist()}
    shown = ["SHOWS", FRAUD_PERSON]  # five of six rows are marked: the person is caught
    assert rules == dict.fromkeys(range(5), shown) | {
        9: ["CLICKED"],
        10: ["DUPLICATE", *shown],
        11: [],
    }
    assert {one["id"]: one["rules_given"] for one in table.to_pylist()} == given
    assert (found.rows, found.changed) == (8, 7)
    assert ComparedRule("SHOWS", before=0, after=6, gained=6, lost=0) in found.rules
    assert ComparedRule("DUPLICATE", before=1, after=1, gained=0, lost=0) in found.rules
    assert found.persons_new == (8,)  # person 7 has a duplicate already
    assert found.persons_lost == ()
    assert [one.id for one in found.examples] == [0, 1, 2, 3, 4, 10, 9]


def test_a_rule_that_is_gone_is_lost(tmp_path: Path) -> None:
    before = rules_of(tmp_path)
    with opened_log(tmp_path, rules=lambda: before) as log:
        passed = PassedLog(log, tmp_path, lambda: before)
        passed.deliver([row(1, 1, 7, event="click"), row(2, 2, 8)])
        found = backfill_of(passed, tmp_path).judge(DATE, EventRules("none"), "none")
        assert found.rules == (ComparedRule("CLICKED", before=1, after=0, gained=0, lost=1),)
        assert found.persons_lost == (7,)


def test_the_same_again_is_the_same(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver([row(n, n % 3, n % 4) for n in range(40)])
    judged = backfill_of(passed, tmp_path)
    assert judged.dates("2000-01-01", "2100-01-01") == [DATE]
    first = judged.judge(DATE, rules_of(tmp_path), "again")
    octets = passed.log.folder.side("again", DATE).read_bytes()
    assert judged.judge(DATE, rules_of(tmp_path), "again") == first
    assert passed.log.folder.side("again", DATE).read_bytes() == octets


@pytest.mark.parametrize(("renewed", "marked"), [(True, 3), (False, 0)])
def test_thresholds_are_those_of_a_pass(
    passed: PassedLog, tmp_path: Path, *, renewed: bool, marked: int
) -> None:
    passed.deliver([row(n, n, 7) for n in range(3)])
    line = EventThreshold(date=DATE, event="show", threshold=2.0, people=30, most=2.0)
    ThresholdBook(passed.log.store, "clicks").renew([line])
    log = passed.log
    side = LogBackfill(
        CLICKS,
        log.folder,
        log.store,
        log.engine,
        work=tmp_path / "work",
        scores=passed.scores,
        renewed=renewed,
    )
    assert side.judge(DATE, EventRules("none"), "side").changed == marked


def test_a_person_who_is_taken_out_goes_from_side_tables(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver([row(n, n, n % 2) for n in range(8)])
    judged = backfill_of(passed, tmp_path)
    judged.judge(DATE, rules_of(tmp_path), "march")
    ErasureBook(passed.log.store, "clicks").ask([1], passed.now)
    with pytest.raises(StoreError, match="is being taken out"):
        judged.judge(DATE, rules_of(tmp_path), "later")
    assert eraser(passed).step()
    path = passed.log.folder.side("march", DATE)
    assert set(read_table(path).column("person").to_pylist()) == {0}
    assert judged.judge(DATE, rules_of(tmp_path), "later").rows == 4


def test_the_command_writes_compares_and_removes(site: Path) -> None:
    (site / "oborona.toml").write_text(
        '[paths]\nstate = "state"\n[eventlog]\nenabled = true\nback_hours = 0\nready_minutes = 0\n'
    )
    now = time.time()
    date = slot_name(slot_start(now - SLOT_S))[:10]
    at = slot_start(now - SLOT_S)
    lines = [
        {"click": str(n), "at": at + n, "action": "click", "user": "bob", "page": "p"}
        for n in range(3)
    ]
    path = site / "clicks" / f"{slot_name(at)}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (now - 60, now - 60))
    done = oborona(site, "run", "--once")
    assert done.exit_code == 0, done.output

    (site / "other").mkdir()
    (site / "other/50-events.toml").write_text(
        '[[event_rule]]\nname = "PAGE"\nlog = "CLICKS"\nwhen = "page == \'p\'"\nsay = "it"\n'
    )
    words = ("backfill", "clicks", "trial", "--policy", str(site / "other"), "--since", date)
    told = oborona(site, *words)
    assert told.exit_code == 0, told.output
    assert f"clicks {date}: 3 rows, 3 would have other rules" in told.output
    assert f"side/trial/{date}.parquet written" in told.output
    (found,) = map(json.loads, oborona(site, *words, "--json").output.splitlines())
    assert (found["date"], found["rows"], found["changed"]) == (date, 3, 3)
    table = pq.read_table(site / f"state/eventlog/clicks/side/trial/{date}.parquet")
    assert all("PAGE" in rules for rules in table.column("rules").to_pylist())

    for wrong, why in (
        (("backfill", "clicks", "trial"), "say the first day"),
        (("backfill", "clicks", "../x", "--since", date), "is no name"),
        (("backfill", "clicks", "trial", "--since", "2001-01-01"), "has no delivered day"),
        (("backfill", "clicks", "other", "--remove"), "there are: trial"),
        (("backfill", "clocks", "trial", "--since", date), "there is no event log"),
    ):
        refused = oborona(site, *wrong)
        assert refused.exit_code != 0
        assert why in refused.output
    assert "is removed" in oborona(site, "backfill", "clicks", "trial", "--remove").output
    assert not (site / "state/eventlog/clicks/side/trial").exists()
