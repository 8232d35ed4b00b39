"""Rules that are not held against a person for a while: in tables, in days, and behind them."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from oborona.errors import ConfigError
from oborona.eventlog.batch import schema as store_schema
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.daily.backfill import LogBackfill
from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.policy_rules import PolicyRules
from oborona.eventlog.rule_names import FRAUD_PERSON
from oborona.eventlog.slots import DAY_S, SLOT_S, delivered_at, slot_name
from oborona.eventlog.suppression import book
from oborona.eventlog.suppression.book import RuleSuppression, SuppressionBook
from oborona.eventlog.suppression.names import is_quiet, told_apart
from oborona.eventlog.suppression.quiet_rule import EVERY, QuietRule, quiet_names
from oborona.eventlog.thresholds import LATE_S, ThresholdRenewal
from oborona.policy.folders import PolicyFolders
from tests.eventlog.erasing_program import eraser
from tests.eventlog.oracle import BruteForceOracle
from tests.eventlog.test_day_pass import DATE, DUE, MIDNIGHT, PassedLog, row
from tests.eventlog.worlds import (
    CLICKS,
    ENGINE,
    NO_RULES,
    START,
    CheckedLog,
    made_rows,
    opened_log,
    tree,
)

ROBOT, OTHER = 7, -(2**63)
FIRST, SECOND, THIRD = (slot_name(START + place * SLOT_S) for place in range(3))
RULES = """
[[event_rule]]
name = "CLICKED"
log  = "CLICKS"
when = "event == 'click'"
say  = "a click"

[[event_rule]]
name = "ON_A"
log  = "CLICKS"
when = "page == 'a' and fired(CLICKED)"
say  = "on a"

[[event_rule]]
name = "ANY"
log  = "CLICKS"
when = "event in ('click', 'show')"
say  = "any"
mode = "shadow"
"""


def suppressed(
    log: CheckedLog, person: int, rule: str = EVERY, *, since: float = 0.0, until: float = 1e6
) -> None:
    """Suppress rules for a person, from so many seconds after the start of the tables on."""
    SuppressionBook(log.store, "clicks").begin(
        RuleSuppression(
            person=person,
            rule=rule,
            since=START + since,
            until=START + until,
            who="eve",
            why="a monitor of ours",
            asked=START + since,
        )
    )


def fired(log: CheckedLog, name: str) -> dict[str, int]:
    """Return the rows by rule of a checked table."""
    table = log.store.checked_table("clicks", name)
    assert table is not None
    return dict(table.fired)


def clicks(first: int, person: int | None, number: int) -> list[dict[str, Any]]:
    """Return so many clicks of a person."""
    return [row(first + n, n, person, event="click") for n in range(number)]


@pytest.fixture
def ruled(tmp_path: Path) -> PolicyRules:
    """Rules of a policy."""
    folder = tmp_path / "policy.d"
    folder.mkdir()
    (folder / "50-events.toml").write_text(RULES)
    return PolicyRules(PolicyFolders.of(folder), [CLICKS], ENGINE)


@pytest.fixture
def passed(tmp_path: Path) -> Iterator[PassedLog]:
    """A log without rules of a policy."""
    with opened_log(tmp_path) as log:
        yield PassedLog(log, tmp_path, lambda: NO_RULES)


def test_what_is_suppressed_stands_on_no_row_and_is_counted(tmp_path: Path) -> None:
    with opened_log(tmp_path) as log:
        suppressed(log, ROBOT)
        log.deliver(FIRST, clicks(0, ROBOT, 21) + clicks(100, OTHER, 21) + clicks(200, None, 3))
        log.check()
        assert log.rules(FIRST) == [[]] * 21 + [["ABNORMAL"]] * 21 + [[]] * 3
        assert fired(log, FIRST) == {"ABNORMAL": 21, "ABNORMAL (suppressed)": 21}
        table = log.store.checked_table("clicks", FIRST)
        assert table is not None
        assert table.marked == 21


def test_one_rule_may_be_suppressed_and_the_others_stand(
    tmp_path: Path, ruled: PolicyRules
) -> None:
    with opened_log(tmp_path, rules=lambda: ruled.of("clicks")) as log:
        suppressed(log, ROBOT, "CLICKED")
        suppressed(log, OTHER)
        log.deliver(FIRST, [*clicks(0, ROBOT, 1), *clicks(1, OTHER, 1), *clicks(2, 8, 1)])
        log.check()
        assert log.rules(FIRST) == [["ON_A"], [], ["CLICKED", "ON_A"]]
        assert fired(log, FIRST) == {
            "ANY (shadow)": 2,
            "ANY (suppressed)": 1,
            "CLICKED": 1,
            "CLICKED (suppressed)": 2,
            "ON_A": 2,
            "ON_A (suppressed)": 1,
        }


def test_a_copy_is_a_copy_whoever_told_it(tmp_path: Path) -> None:
    with opened_log(tmp_path) as log:
        suppressed(log, ROBOT)
        log.deliver(FIRST, [row(1, 0, ROBOT, key=5), row(2, 1, ROBOT, key=5)])
        log.check()
        assert log.rules(FIRST) == [[], ["DUPLICATE"]]


@pytest.mark.parametrize("most", [1, 2, 12])
def test_a_table_heeds_what_is_in_force_in_its_five_minutes(tmp_path: Path, most: int) -> None:
    with opened_log(tmp_path, most=most) as log:
        suppressed(log, ROBOT, since=SLOT_S, until=2 * SLOT_S)
        for place, name in enumerate((FIRST, SECOND, THIRD)):
            log.deliver(name, clicks(100 * place, ROBOT, 21))
        log.check()
        assert [sum(map(bool, log.rules(name))) for name in (FIRST, SECOND, THIRD)] == [21, 0, 21]


def test_a_suppression_that_is_taken_back_is_over(tmp_path: Path) -> None:
    with opened_log(tmp_path) as log:
        known = SuppressionBook(log.store, "clicks")
        suppressed(log, ROBOT)
        suppressed(log, ROBOT, "ABNORMAL")
        assert known.take_back(OTHER, None, "adam", START + 1.0) == 0
        assert known.take_back(ROBOT, "CLICKED", "adam", START + 1.0) == 0
        assert known.take_back(ROBOT, None, "adam", START + SLOT_S) == 2
        assert known.take_back(ROBOT, None, "adam", START + SLOT_S + 1.0) == 0
        for place, name in enumerate((FIRST, SECOND)):
            log.deliver(name, clicks(100 * place, ROBOT, 21))
        log.check()
        assert [sum(map(bool, log.rules(name))) for name in (FIRST, SECOND)] == [0, 21]
        last, first = known.all(ROBOT)
        assert (last.rule, last.taken_back, last.taken_back_by) == (
            "ABNORMAL",
            START + SLOT_S,
            "adam",
        )
        assert (first.who, first.why, first.is_open(START)) == ("eve", "a monitor of ours", False)
        assert known.all(OTHER) == []


def test_a_batch_that_is_repeated_heeds_what_was_in_force_when_it_was_begun(tmp_path: Path) -> None:
    rows = clicks(0, ROBOT, 21) + clicks(100, OTHER, 21)
    files = []
    for undisturbed in (True, False):
        state = tmp_path / str(undisturbed)
        with opened_log(state) as log:
            suppressed(log, ROBOT)
            log.deliver(FIRST, rows)
            if not undisturbed:
                assert log.checker._begun() is not None
                SuppressionBook(log.store, "clicks").take_back(ROBOT, None, "adam", START - 1.0)
                suppressed(log, OTHER)
            log.check()
            (batch,) = log.store.batches("clicks", 9)
            assert batch.suppressed == (), "one that is done needs it no more"
            assert fired(log, FIRST) == {"ABNORMAL": 21, "ABNORMAL (suppressed)": 21}
        files.append(tree(state / "logs"))
    assert files[0] == files[1]


@pytest.mark.parametrize("most", [1, 7])
def test_what_is_left_is_what_the_oracle_says_without_what_is_suppressed(
    tmp_path: Path, most: int
) -> None:
    chance = random.Random(most)
    tables = made_rows(most, 20, 4_000)
    events = Counter(row["person"] for rows in tables.values() for row in rows if row["person"])
    persons = [person for person, _ in events.most_common(12)]
    told = [
        QuietRule(
            chance.choice(persons),
            chance.choice((EVERY, "ABNORMAL", "DUPLICATE")),
            begin := chance.randrange(-600, 20 * SLOT_S),
            begin + chance.randrange(6_000),
        )
        for _ in range(60)
    ]
    gone = 0
    with opened_log(tmp_path, most=most) as log:
        for one in told:
            suppressed(log, one.person, one.rule, since=one.since, until=one.until)
        for name, rows in tables.items():
            log.deliver(name, rows)
        log.check()
        oracle = BruteForceOracle(CLICKS.thresholds, CLICKS.threshold)
        for batch in reversed(log.store.batches("clicks", 99)):
            for name, rules in oracle.batch({one: tables[one] for one in batch.tables}).items():
                start = delivered_at(name) - START
                wanted = []
                for row, names in zip(tables[name], rules, strict=True):
                    quiet = {
                        one.rule
                        for one in told
                        if one.person == row["person"] and one.is_in_force(start, start + SLOT_S)
                    }
                    off = {"ABNORMAL"} if quiet & {EVERY, "ABNORMAL"} else set[str]()
                    wanted.append([one for one in names if one not in off])
                    gone += len(names) - len(wanted[-1])
                assert log.rules(name) == wanted, name
        counted = sum(fired(log, name).get("ABNORMAL (suppressed)", 0) for name in tables)
    assert counted == gone > 20


def test_who_is_suppressed_is_not_caught(passed: PassedLog) -> None:
    suppressed(passed.log, ROBOT)
    rows = [row(n, n, ROBOT) for n in range(70)] + [row(100 + n, n, 8) for n in range(70)]
    passed.deliver(rows[:40] + rows[70:110], rows[40:70] + rows[110:])
    passed.now = DUE
    assert passed.go_over() == 1
    assert [one.person for one in passed.book.persons(DATE)] == [8]
    marks = Counter(tuple(rules) for ident, rules in passed.given_out().items() if ident < 100)
    assert marks == {(): 70}
    done = passed.book.last(DATE)
    assert done is not None
    assert done.fired == {"ABNORMAL": 70, "ABNORMAL (suppressed)": 70, FRAUD_PERSON: 70}
    assert (done.marked, done.suppressed) == (70, ())


def test_names_that_were_given_out_stay_and_catch_nobody(passed: PassedLog) -> None:
    rows = [row(n, n, ROBOT) for n in range(70)]
    passed.deliver(rows)
    passed.now = DUE
    passed.go_over()
    assert [one.person for one in passed.book.persons(DATE)] == [ROBOT]
    before = passed.given_out()
    suppressed(passed.log, ROBOT, until=600)  # some minutes of that day
    passed.book.request(DATE)
    passed.go_over()
    assert passed.book.persons(DATE) == [], "who was caught by mistake is so no more"
    assert passed.given_out() == before


def test_a_suppression_of_another_day_changes_nothing(passed: PassedLog) -> None:
    suppressed(passed.log, ROBOT, since=MIDNIGHT - START - DAY_S, until=MIDNIGHT - START)
    suppressed(passed.log, ROBOT, since=MIDNIGHT - START + DAY_S)
    passed.deliver([row(n, n, ROBOT) for n in range(70)])
    passed.now = DUE
    passed.go_over()
    assert [one.person for one in passed.book.persons(DATE)] == [ROBOT]


def test_the_verdict_alone_may_be_suppressed(passed: PassedLog) -> None:
    suppressed(passed.log, ROBOT, FRAUD_PERSON)
    passed.deliver([row(n, n, ROBOT) for n in range(70)])
    passed.now = DUE
    passed.go_over()
    assert passed.book.persons(DATE) == []
    assert set(map(tuple, passed.given_out().values())) == {("ABNORMAL",)}
    done = passed.book.last(DATE)
    assert done is not None
    assert done.fired == {"ABNORMAL": 70, f"{FRAUD_PERSON} (suppressed)": 70}


def test_a_pass_that_is_repeated_heeds_what_was_in_force_when_it_was_begun(
    passed: PassedLog,
) -> None:
    suppressed(passed.log, ROBOT, since=MIDNIGHT - START - 10.0)
    passed.deliver([row(n, n, ROBOT) for n in range(70)])
    passed.now = DUE
    assert passed.passes._begun() is not None
    SuppressionBook(passed.log.store, "clicks").take_back(ROBOT, None, "adam", MIDNIGHT - 5.0)
    passed.passes = passed.begun()
    assert passed.go_over() == 1
    assert passed.book.persons(DATE) == []
    passed.book.request(DATE)
    passed.go_over()
    assert [one.person for one in passed.book.persons(DATE)] == [ROBOT]


def test_other_rules_over_past_days_heed_it(tmp_path: Path, ruled: PolicyRules) -> None:
    with opened_log(tmp_path, rules=lambda: ruled.of("clicks")) as log:
        passed = PassedLog(log, tmp_path, lambda: ruled.of_day("clicks"))
        suppressed(log, ROBOT)
        passed.deliver(clicks(0, ROBOT, 6) + clicks(10, 8, 6))
        side = LogBackfill(
            CLICKS, log.folder, log.store, log.engine, work=tmp_path / "work", scores=passed.scores
        )
        found = side.judge(DATE, ruled.of_day("clicks"), "side")
    assert {one.name: (one.before, one.after) for one in found.rules} == {
        "ANY": (0, 6),
        "CLICKED": (6, 6),
        FRAUD_PERSON: (0, 6),
        "ON_A": (6, 6),
    }
    assert found.persons_new == ()


def test_forget_takes_it_out(passed: PassedLog) -> None:
    for person in (ROBOT, OTHER):
        suppressed(passed.log, person)
    passed.deliver(clicks(0, ROBOT, 21))
    ErasureBook(passed.log.store, "clicks").ask([ROBOT], passed.now)
    assert eraser(passed).step()
    assert [one.person for one in SuppressionBook(passed.log.store, "clicks").all()] == [OTHER]
    rest = b"".join(path.read_bytes() for path in passed.log.folder.path.rglob("*.parquet"))
    assert b"names_quiet" not in rest


def test_who_is_suppressed_makes_no_threshold(tmp_path: Path) -> None:
    rows = made_rows(3, 1, 10)[FIRST][:1]
    with opened_log(tmp_path) as log:
        for person in range(10, 50):
            rows += [row(person * 1000 + n, n, person) for n in range(50)]
        for person in range(50, 120):  # more than there are others, and nothing marks them
            rows += [row(person * 1000 + n, n, person) for n in range(100)]
            suppressed(log, person)
        log.deliver(FIRST, rows)
        log.check()
        renewal = ThresholdRenewal(
            CLICKS, log.folder, log.store, log.engine, clock=lambda: MIDNIGHT + DAY_S + LATE_S
        )
        proposed = {one.event: one for one in renewal.proposed(DATE)}
    assert (proposed["show"].people, proposed["show"].most) == (40, 50)


def test_no_more_are_taken_than_a_batch_can_write_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "MOST", 2)
    with opened_log(tmp_path) as log:
        suppressed(log, 1, until=10.0)
        suppressed(log, 2)
        with pytest.raises(ConfigError, match="2 suppressions are in force in clicks"):
            suppressed(log, 3, since=5.0)
        suppressed(log, 3, since=10.0)


def test_a_file_of_the_version_before_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "eventlog.db"
    with sqlite3.connect(path) as db:
        for version in store_schema.MIGRATIONS[:-1]:
            for statement in version:
                db.execute(statement)
        db.execute(
            "INSERT INTO batch (log, tables, rules, thresholds, begun)"
            " VALUES ('clicks', '[]', 'none', '{\"\": 1.0}', 5.0)"
        )
        db.execute(f"PRAGMA application_id = {store_schema.APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(store_schema.MIGRATIONS) - 1}")
    db.close()
    with LogStore(path) as store:
        batch = store.unfinished("clicks")
        assert batch is not None
        assert batch.suppressed == ()
        assert SuppressionBook(store, "clicks").all() == []


@pytest.mark.parametrize(
    ("names", "quiet", "stand", "gone"),
    [
        ("", EVERY, "", ""),
        (",A,B", "", ",A,B", ""),
        (",A,B", EVERY, "", ",A,B"),
        (",DUPLICATE,A", EVERY, ",DUPLICATE", ",A"),
        (",DUPLICATE", "DUPLICATE", ",DUPLICATE", ""),
        (",A,AB,B", "A B", ",AB", ",A,B"),
    ],
)
def test_names_are_told_apart(names: str, quiet: str, stand: str, gone: str) -> None:
    assert told_apart(names, quiet) == (stand, gone)
    assert is_quiet("A", quiet) is (",A" in gone or quiet == EVERY)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ([], {}),
        ([QuietRule(1, "B", 0, 9), QuietRule(1, "A", 0, 9)], {1: "A B"}),
        ([QuietRule(1, "B", 0, 9), QuietRule(1, EVERY, 0, 9)], {1: EVERY}),
        ([QuietRule(1, "B", 4, 9), QuietRule(2, "B", 0, 2), QuietRule(3, "B", 3, 9)], {3: "B"}),
    ],
)
def test_what_is_in_force_in_a_span(rules: Sequence[QuietRule], names: dict[int, str]) -> None:
    assert quiet_names(rules, 2, 4) == names
