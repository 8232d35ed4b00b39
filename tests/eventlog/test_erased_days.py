"""A person is taken out of a log whose days were gone over, and counts stay exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.periods import DAY
from oborona.eventlog.persons.word_book import PersonWord, PersonWordBook
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.slots import SLOT_S, slot_name
from oborona.eventlog.tables.delta import DeliveredTable
from tests.eventlog.erasing_program import eraser
from tests.eventlog.test_day_pass import DATE, DUE, PassedLog, row
from tests.eventlog.worlds import START, made_rows, opened_log

ROBOT = 7


@pytest.fixture
def passed(tmp_path: Path) -> Iterator[PassedLog]:
    """A log whose day was gone over: the robot is caught, with rows that were given out again."""
    with opened_log(tmp_path) as log:
        site = PassedLog(log, tmp_path, lambda: EventRules("none"))
        robot = [row(n, n, ROBOT) for n in range(70)]
        people = [row(100 + n, n, 8, key=1000 + n % 25) for n in range(50)]
        site.deliver(robot[:40] + people[20:], robot[40:] + people[:20])
        site.now = DUE
        assert site.go_over() == 1
        yield site


def erase(passed: PassedLog) -> None:
    ErasureBook(passed.log.store, "clicks").ask([ROBOT], passed.now)
    assert eraser(passed).step()


def has(path: Path) -> bool:
    table = pq.read_table(path, partitioning=None)
    return "person" in table.column_names and ROBOT in table.column("person").to_pylist()


def gone_over_again(passed: PassedLog) -> int:
    """Go over the day once more; return how many rows were given out again."""
    passed.book.request(DATE)
    assert passed.go_over() == 1
    done = passed.book.last(DATE)
    assert done is not None
    assert done.why == ""
    return done.revised


def test_nothing_that_passes_found_has_the_person(passed: PassedLog) -> None:
    words = PersonWordBook(passed.log.store, "clicks")
    words.say(PersonWord(person=ROBOT, fraud=True, why="a robot", time=1.0))
    files = sorted(passed.log.folder.path.rglob("*.parquet"))
    assert len([path for path in files if has(path)]) > 5
    erase(passed)
    files = sorted(passed.log.folder.path.rglob("*.parquet"))
    assert not [path for path in files if has(path)]
    assert passed.book.persons(DATE) == []
    assert words.words() == {}
    assert len(passed.given_out()) == 50


def test_the_day_is_what_its_account_says_and_is_gone_over_again(passed: PassedLog) -> None:
    before = {key: value for key, value in passed.given_out().items() if key >= 100}
    erase(passed)
    assert passed.given_out() == before
    assert gone_over_again(passed) == 0
    assert passed.given_out() == before


def test_also_where_tables_of_five_minutes_are_gone(passed: PassedLog) -> None:
    folder = passed.log.folder
    for name in folder.tables()[:1]:
        folder.keys(name).unlink()
        folder.counts(name).unlink()
        folder.remove(name)
    erase(passed)
    assert gone_over_again(passed) == 0


def test_a_day_that_is_damaged_behind_that_is_written_anew(
    passed: PassedLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    erase(passed)
    append = DeliveredTable.append
    monkeypatch.setattr(DeliveredTable, "append", lambda self, n, rows: append(self, n, rows[1:]))
    passed.give({slot_name(START + 40 * SLOT_S): [row(300, 500, 9), row(301, 501, 9)]})
    passed.now += 3601
    passed.merge()
    monkeypatch.undo()
    assert "is written anew" in caplog.text
    assert len(passed.given_out()) == 52
    assert gone_over_again(passed) > 0, "what order hid is found again"


def test_nobody_is_taken_out_while_a_day_is_half_gone_over(passed: PassedLog) -> None:
    passed.book.request(DATE)
    assert passed.passes._begun() is not None
    ErasureBook(passed.log.store, "clicks").ask([ROBOT], passed.now)
    assert not eraser(passed).step()
    passed.passes = passed.begun()
    assert passed.go_over() == 1
    assert eraser(passed).step()
    assert gone_over_again(passed) == 0


def test_after_compaction_a_day_is_read_as_before(passed: PassedLog) -> None:
    tables = made_rows(95, 4, 400)
    passed.give({f"{name}.more": rows for name, rows in tables.items()})
    passed.now += 3601
    passed.merge()
    table = passed.delivered(DAY)
    table.tidy()
    erase(passed)
    table.tidy()
    assert gone_over_again(passed) > 0
    assert gone_over_again(passed) == 0
