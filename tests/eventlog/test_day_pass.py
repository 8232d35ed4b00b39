"""The pass over a whole day: what it finds, what it gives out again, and that nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from oborona.config.eventlog import PersonModelMode
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook
from oborona.eventlog.daily.book import DayPassBook
from oborona.eventlog.daily.day_pass import MOST_TRIES, REST_S, DayPass
from oborona.eventlog.daily.judged_day import JudgedDay
from oborona.eventlog.daily.verdict import is_caught
from oborona.eventlog.log_metrics import PERSONS, REVISED
from oborona.eventlog.periods import DAY
from oborona.eventlog.persons.person_scores import PersonScores
from oborona.eventlog.policy_rules import EventRules, PolicyRules
from oborona.eventlog.rule_names import FRAUD_PERSON
from oborona.eventlog.schema import FraudLine
from oborona.eventlog.slots import DAY_S, SLOT_S, slot_name
from oborona.eventlog.tables.delta import REVISION, DeliveredTable
from oborona.eventlog.tables.parquet import read_table
from oborona.eventlog.tables.table_file import TableMismatch
from oborona.eventlog.thresholds import LATE_S
from oborona.policy.folders import PolicyFolders
from tests.eventlog.test_merger import Killed, MergedLog
from tests.eventlog.worlds import CLICKS, ENGINE, NO_RULES, START, made_rows, opened_log

MIDNIGHT = START // 86_400 * 86_400
DATE = slot_name(MIDNIGHT)[:10]
DUE = MIDNIGHT + DAY_S + LATE_S


def row(number: int, at: float, person: int | None, **more: object) -> dict[str, Any]:
    """Return an event, so many seconds after the start of the tables."""
    return {
        "id": number, "time": datetime.fromtimestamp(START + at, UTC), "event": "show",
        "person": person, "key": number, "page": "a", "amount": None,
    } | more  # fmt: skip


class PassedLog(MergedLog):
    """A log with what checks and merges it and goes over its days."""

    def __init__(self, log: Any, tmp_path: Path, rules: Callable[[], EventRules]) -> None:
        super().__init__(log)
        self.book = DayPassBook(log.store, "clicks")
        self._work, self._rules = tmp_path / "work", rules
        self.model = tmp_path / "clicks.model"
        self.scores = self.scores_of(PersonModelMode.SHADOW)
        self.passes = self.begun()

    def scores_of(self, mode: PersonModelMode) -> PersonScores:
        """Return what a model says of persons, if there is one."""
        log = self.log
        return PersonScores(
            CLICKS, log.folder, log.engine, self.model, mode, clock=lambda: self.now
        )

    def begun(self, *, daily: bool = True) -> DayPass:
        """Return what goes over days, as a process that has just begun has it."""
        return DayPass(
            CLICKS,
            self.log.folder,
            self.log.store,
            self.log.engine,
            rules=self._rules,
            work=self._work,
            scores=self.scores,
            clock=lambda: self.now,
            daily=daily,
        )

    def deliver(self, *tables: list[dict[str, Any]]) -> None:
        """Deliver, check and merge tables, one after the other from the start on."""
        self.give({slot_name(START + place * SLOT_S): rows for place, rows in enumerate(tables)})
        self.now += 3601
        self.merge()

    def go_over(self) -> int:
        """Go over all days that are due; return how many."""
        days = 0
        while self.passes.step():
            days += 1
        return days

    def given_out(self) -> dict[int, list[str]]:
        """Return the rules of each row of the day, by id."""
        table = self.delivered(DAY)
        rows = table.rows(table.files(DATE))
        assert rows is not None
        return {one["id"]: one["rules"] for one in rows.to_pylist()}

    def revisions(self, number: int) -> list[tuple[int, list[str], list[str]]]:
        """Return what a pass gave out again."""
        rows = read_table(self.log.folder.revisions(DATE, number)).to_pylist()
        return [(one["id"], one["before"], one["after"]) for one in rows]


@pytest.fixture
def passed(tmp_path: Path) -> Iterator[PassedLog]:
    """A log without rules of a policy."""
    with opened_log(tmp_path) as log:
        yield PassedLog(log, tmp_path, lambda: NO_RULES)


def test_what_order_hid_is_given_out_again_and_not_changed_in_silence(passed: PassedLog) -> None:
    passed.deliver(
        [row(1, 10, 7, key=5), row(2, 11, 7)],
        [row(3, 9, 7, key=5), row(4, 300, 8, key=5)],  # the first is the original, and came last
    )
    assert passed.given_out() == {1: [], 2: [], 3: [], 4: ["DUPLICATE"]}
    half_hours = passed.rows(passed.merger._periods[0][0])
    passed.now = DUE - 1
    assert passed.go_over() == 0, "three hours are left for what comes late"
    passed.now = DUE
    revised = REVISED.values.get(("clicks",), 0)
    assert passed.go_over() == 1
    assert passed.given_out() == {1: ["DUPLICATE"], 2: [], 3: [], 4: ["DUPLICATE"]}
    assert passed.revisions(1) == [(1, [], ["DUPLICATE"])]
    assert passed.rows(passed.merger._periods[0][0]) == half_hours
    done = passed.book.last(DATE)
    assert done is not None
    assert (done.rows, done.revised, done.marked, done.persons) == (4, 1, 2, 0)
    assert done.fired == {"DUPLICATE": 2}
    assert REVISED.values[("clicks",)] == revised + 1
    assert passed.go_over() == 0, "once"


def test_a_robots_first_events_are_marked_and_the_robot_is_caught(passed: PassedLog) -> None:
    robot = [row(n, n, 7) for n in range(40)], [row(n, n, 7) for n in range(40, 70)]
    people = [row(100 + n, n, 8) for n in range(60)]
    passed.deliver(robot[0] + people, robot[1])
    fired = Counter(tuple(rules) for rules in passed.given_out().values())
    assert fired == {(): 100, ("ABNORMAL",): 30}, "those before the threshold passed"
    passed.now = DUE
    passed.go_over()
    fired = Counter(tuple(rules) for rules in passed.given_out().values())
    assert fired == {(): 60, ("ABNORMAL", FRAUD_PERSON): 70}
    (caught,) = passed.book.persons(DATE)
    assert (caught.person, caught.events, caught.marked) == (7, 70, 70)
    file = read_table(passed.log.folder.fraud_persons(DATE)).to_pylist()
    assert file == [{"person": 7, "events": 70, "marked": 70, "rules": ["ABNORMAL"]}]
    assert PERSONS.values[("clicks",)] == 1


def test_a_second_pass_over_the_same_rows_changes_nothing(passed: PassedLog) -> None:
    tables = made_rows(61, 12, 2_000)
    passed.deliver(*tables.values())
    passed.now = DUE
    passed.go_over()
    once, version = passed.rows(DAY), passed.delivered(DAY).files()
    first = passed.book.last(DATE)
    assert first is not None
    assert first.revised > 0
    passed.book.request(DATE)
    assert passed.go_over() == 1
    again = passed.book.last(DATE)
    assert again is not None
    assert (again.revised, again.marked, again.persons) == (0, first.marked, first.persons)
    assert (passed.rows(DAY), passed.delivered(DAY).files()) == (once, version)
    assert passed.revisions(again.id) == []


@pytest.mark.parametrize("seed", [71, 72])
def test_a_day_is_what_dictionaries_come_to(passed: PassedLog, seed: int) -> None:
    tables = made_rows(seed, 12, 3_000)
    passed.deliver(*tables.values())
    before = {key: list(value) for key, value in passed.given_out().items()}
    passed.now = DUE
    passed.go_over()
    day = passed.delivered(DAY)
    rows = day.rows(day.files(DATE))
    assert rows is not None
    told = {one["id"]: one for one in rows.to_pylist()}
    assert set(told) == set(before)
    originals: dict[int, Any] = {}
    for one in told.values():
        here = (one["time"], "DUPLICATE" in before[one["id"]], one["id"])
        if one["key"] is not None and here < originals.get(
            one["key"], (datetime.max.replace(tzinfo=UTC),)
        ):
            originals[one["key"]] = here
    counts = Counter((one["person"], one["event"]) for one in told.values())
    lines = CLICKS.thresholds
    over = {
        person
        for (person, event), number in counts.items()
        if person is not None and number > lines.get(event, CLICKS.threshold)
    }
    found = {
        ident: {
            *before[ident],
            *(
                ["DUPLICATE"]
                if one["key"] is not None and originals[one["key"]][2] != ident
                else []
            ),
            *(["ABNORMAL"] if one["person"] in over else []),
        }
        for ident, one in told.items()
    }
    events = Counter(one["person"] for one in told.values())
    marked = Counter(told[ident]["person"] for ident, names in found.items() if "ABNORMAL" in names)
    caught = {
        person
        for person, number in marked.items()
        if person is not None and is_caught(events[person], number, CLICKS.fraud)
    }
    wanted = {
        ident: names | ({FRAUD_PERSON} if told[ident]["person"] in caught else set())
        for ident, names in found.items()
    }
    assert {ident: set(one["rules"]) for ident, one in told.items()} == wanted
    assert all(one["rules"][: len(before[one["id"]])] == before[one["id"]] for one in told.values())
    assert {one.person for one in passed.book.persons(DATE)} == caught


def test_a_day_with_late_rows_is_gone_over_on_the_next_day(passed: PassedLog) -> None:
    passed.deliver([row(1, 10, 7, key=5)])
    passed.now = DUE
    passed.go_over()
    passed.give({slot_name(START + 40 * SLOT_S): [row(2, 5, 7, key=5)]})
    passed.now += 3601
    passed.merge()
    assert passed.go_over() == 0, "not twice on one day"
    passed.now = DUE + DAY_S
    assert passed.go_over() == 1
    assert passed.given_out() == {1: ["DUPLICATE"], 2: []}
    passed.give({slot_name(START + 41 * SLOT_S): [row(3, 4, 7, key=5)]})
    passed.now = DUE + 9 * DAY_S
    passed.merge()
    assert passed.go_over() == 0, "a day of last week is left as it is"
    passed.book.request(DATE)
    assert passed.go_over() == 1
    assert passed.given_out() == {1: ["DUPLICATE"], 2: ["DUPLICATE"], 3: []}


def test_who_switches_it_off_may_still_ask(passed: PassedLog) -> None:
    passed.deliver([row(1, 10, 7, key=5), row(2, 10, 7, key=5)])
    passed.now = DUE
    by_hand = passed.begun(daily=False)
    assert not by_hand.step()
    passed.book.request(DATE)
    assert by_hand.step()
    assert passed.given_out() == {1: [], 2: ["DUPLICATE"]}


STEPS = (
    (DayPassBook, "begin"),
    (JudgedDay, "compute"),
    (DayPassBook, "judge"),
    (DeliveredTable, "replace"),
    (DayPassBook, "finish"),
)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name"), STEPS)
def test_killed_at_any_step_it_goes_on_to_the_same(
    passed: PassedLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    after: bool,
) -> None:
    tables = made_rows(81, 12, 2_000)
    passed.deliver(*tables.values())
    before = len(passed.rows(DAY))
    function = getattr(owner, name)

    def killed(*given: Any, **named: Any) -> None:
        if after:
            function(*given, **named)
        raise Killed

    passed.now = DUE
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(Killed):
            passed.passes.step()
    passed.passes = passed.begun()
    assert not list((tmp_path / "work").glob("day.*"))
    assert passed.go_over() == (0 if (name, after) == ("finish", True) else 1)
    done = passed.book.last(DATE)
    assert done is not None
    assert (done.why, len(passed.rows(DAY))) == ("", before)
    assert done.revised == len(passed.revisions(done.id)) > 0
    assert passed.book.unfinished() is None
    found = passed.rows(DAY)
    persons = passed.book.persons(DATE)
    passed.book.request(DATE)
    passed.go_over()
    last = passed.book.last(DATE)
    assert last is not None
    assert (last.revised, passed.rows(DAY), passed.book.persons(DATE)) == (0, found, persons)


def test_rows_are_merged_into_a_day_that_was_gone_over(
    passed: PassedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = list(made_rows(91, 8, 1_500).values())
    passed.deliver(*tables[:6])
    passed.now = DUE
    passed.go_over()
    revised = {key: value for key, value in passed.given_out().items() if value}
    with monkeypatch.context() as patched:
        patched.setattr("oborona.eventlog.merge.book.MergeBook.finish", lambda *_: 1 / 0)
        passed.give({slot_name(START + 40 * SLOT_S): tables[6]})
        passed.now += 3601
        for _ in range(2):  # the second one finds it appended, and compares the day whole
            with pytest.raises(ZeroDivisionError):
                passed.merger.step()
    passed.merge()
    given = passed.given_out()
    assert {key: given[key] for key in revised} == revised, "it is not taken for damaged"


def test_a_day_that_was_damaged_and_written_anew_is_gone_over_again(
    passed: PassedLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    passed.deliver([row(1, 10, 7, key=5)], [row(2, 9, 7, key=5)])
    passed.now = DUE
    passed.go_over()
    append = DeliveredTable.append
    monkeypatch.setattr(DeliveredTable, "append", lambda self, n, rows: append(self, n, rows[1:]))
    passed.give({slot_name(START + 40 * SLOT_S): [row(3, 500, 8), row(4, 501, 8)]})
    passed.now += 3601
    passed.merge()
    assert "is written anew" in caplog.text
    assert passed.given_out() == {1: [], 2: [], 3: [], 4: []}
    assert passed.go_over() == 1
    assert passed.given_out() == {1: ["DUPLICATE"], 2: [], 3: [], 4: []}


def test_a_damaged_day_is_given_up_after_three_tries_and_told(passed: PassedLog) -> None:
    passed.deliver([row(1, 10, 7), row(2, 11, 7)])
    day = passed.delivered(DAY)
    rows = day.rows(day.files(DATE))
    assert rows is not None
    lost = rows.slice(1).append_column("date", pa.array([DATE], pa.string()))
    day.replace(99, DATE, lost)
    passed.now = DUE
    for _ in range(MOST_TRIES + 1):
        with pytest.raises(TableMismatch, match="has 1 rows"):
            passed.passes.step()
        assert not passed.passes.step(), "it rests"
        passed.now += REST_S
    assert passed.go_over() == 0
    ((name, why),) = passed.log.store.set_aside("clicks")
    assert (name, "tried 4 times" in why) == (f"day {DATE}", True)
    assert passed.given_out() == {2: []}


def test_a_changed_policy_begins_a_pass_anew(tmp_path: Path) -> None:
    version = ["one"]
    with opened_log(tmp_path) as log:
        passed = PassedLog(log, tmp_path, lambda: EventRules(version[0]))
        passed.deliver([row(1, 10, 7, key=5), row(2, 10, 7, key=5)])
        passed.now = DUE
        begun = passed.passes._begun()
        assert begun is not None
        version[0] = "two"
        passed.passes = passed.begun()
        assert passed.go_over() == 1
        done = passed.book.last(DATE)
        assert done is not None
        assert (done.id, done.rules) == (begun.id + 1, "two")


OVER_DAYS = """
[[event_rule]]
name = "NIGHT_AND_DAY"
log  = "CLICKS"
when = "person.day[show] > 3 and person.day[click] > 0"
say  = "shows and clicks"
over = "day"

[[event_rule]]
name = "ONLY_SHOWS"
log  = "CLICKS"
when = "person.kinds == 1 and not fired(NIGHT_AND_DAY)"
say  = "shows"
over = "day"
mode = "shadow"

[[event_rule]]
name = "CLICKED"
log  = "CLICKS"
when = "event == 'click'"
say  = "a click"
"""


def test_rules_over_days_look_at_days_alone(tmp_path: Path) -> None:
    folder = tmp_path / "policy.d"
    folder.mkdir()
    (folder / "50-events.toml").write_text(OVER_DAYS)
    rules = PolicyRules(PolicyFolders.of(folder), [CLICKS], ENGINE)
    assert rules.of("clicks").live == ("CLICKED",)
    assert rules.of("clicks").needed == {"event"}
    with opened_log(tmp_path, rules=lambda: rules.of("clicks")) as log:
        passed = PassedLog(log, tmp_path, lambda: rules.of_day("clicks"))
        shows = [row(n, n, 7) for n in range(4)]
        passed.deliver(shows, [row(9, 9, 7, event="click"), row(10, 10, 8)])
        assert passed.given_out() == {0: [], 1: [], 2: [], 3: [], 9: ["CLICKED"], 10: []}
        passed.now = DUE
        passed.go_over()
        mark = ["NIGHT_AND_DAY", FRAUD_PERSON]
        wanted = dict.fromkeys(range(4), mark) | {9: ["CLICKED", *mark], 10: []}
        assert passed.given_out() == wanted
        done = passed.book.last(DATE)
        assert done is not None
        assert done.fired == {
            "CLICKED": 1, "FRAUD_PERSON": 5, "NIGHT_AND_DAY": 5, "ONLY_SHOWS (shadow)": 1,
        }  # fmt: skip


def test_the_thresholds_are_those_of_the_day(passed: PassedLog) -> None:
    book = ThresholdBook(passed.log.store, "clicks")
    line = EventThreshold(date=DATE, event="show", threshold=2.0, people=30, most=2.0)
    later = msgspec.structs.replace(line, date="2099-01-01", threshold=1.0)
    passed.deliver([row(n, n, 7) for n in range(3)] + [row(10 + n, n, 8) for n in range(2)])
    book.renew([line, later])
    passed.now = DUE
    passed.go_over()
    marked = {ident for ident, rules in passed.given_out().items() if rules}
    assert marked == {0, 1, 2}


@pytest.mark.parametrize(
    ("events", "marked", "caught"),
    [
        (10, 4, False),
        (10, 5, True),
        (11, 5, False),
        (1_000_000, 299, False),
        (1_000_000, 300, True),
    ],
)
def test_a_share_or_a_number_of_marked_rows_catches(events: int, marked: int, caught: bool) -> None:
    assert is_caught(events, marked, FraudLine()) is caught


def test_hostile_rows_are_judged_as_others(passed: PassedLog) -> None:
    odd = [
        row(1, 0, 7, event="a,b'\"\x00%\u202e", page="x" * 100_000),
        row(2, 0, 7, event="", page=None, amount=float("nan")),
        row(3, 0, 7, event="\U0001f600", amount=float("inf"), key=None),
        row(2, 0, 7, event="", page=None, amount=float("nan")),  # the very same row again
        row(4, 0, None, key=-(2**63)),
        row(5, 0, 2**63 - 1, key=-(2**63), time=None),
    ]
    passed.deliver(odd)
    passed.now = DUE
    passed.go_over()
    day = passed.delivered(DAY)
    rows = day.rows(day.files(DATE))
    assert rows is not None
    assert sorted(rows.column("id").to_pylist()) == [1, 2, 2, 3, 4]
    again = [one["rules"] for one in rows.to_pylist() if one["id"] == 2]
    assert sorted(again) == [[], ["DUPLICATE"]]
    assert day.last(REVISION) == 0, "nothing was to be given out again"


def test_a_book_that_was_begun_anew_judges_days_all_the_same(passed: PassedLog) -> None:
    passed.deliver([row(1, 10, 7, key=5), row(2, 9, 7, key=5)], [row(3, 8, 7, key=5)])
    day = passed.delivered(DAY)
    rows = day.rows(day.files(DATE))
    assert rows is not None
    # an earlier book has come to pass 30
    day.replace(30, DATE, rows.append_column("date", pa.array([DATE] * 3, pa.string())), REVISION)
    passed.now = DUE
    assert passed.go_over() == 1
    done = passed.book.last(DATE)
    assert done is not None
    assert (done.id, done.revised, done.why) == (31, 1, "")
    assert passed.given_out() == {1: ["DUPLICATE"], 2: ["DUPLICATE"], 3: []}
    passed.book.request(DATE)
    assert passed.go_over() == 1, "and what it changed is known"


@pytest.mark.parametrize(("owner", "name"), STEPS)
def test_a_book_that_was_begun_anew_is_killed_at_any_step(
    passed: PassedLog, monkeypatch: pytest.MonkeyPatch, owner: type, name: str
) -> None:
    passed.deliver([row(1, 10, 7, key=5), row(2, 9, 7, key=5)], [row(3, 8, 7, key=5)])
    day = passed.delivered(DAY)
    rows = day.rows(day.files(DATE))
    assert rows is not None
    # an earlier book has come to pass 30
    day.replace(30, DATE, rows.append_column("date", pa.array([DATE] * 3, pa.string())), REVISION)
    function = getattr(owner, name)

    def killed(*given: Any, **named: Any) -> None:
        function(*given, **named)
        raise Killed

    passed.now = DUE
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(Killed):
            passed.passes.step()
    passed.passes = passed.begun()
    passed.go_over()
    done = passed.book.last(DATE)
    assert done is not None
    assert (done.revised, done.why) == (1, "")
    assert passed.given_out() == {1: ["DUPLICATE"], 2: ["DUPLICATE"], 3: []}
    assert passed.book.unfinished() is None
