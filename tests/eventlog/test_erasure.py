"""A person is taken out of all tables of a log, and all counts are exact behind it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oborona.errors import ConfigError
from oborona.eventlog.erasure.book import STREAM, ErasureBook
from oborona.eventlog.erasure.persons import persons_of, scrub_reasons
from oborona.eventlog.export.feedback import FeedbackLog
from oborona.eventlog.export.messages import MessageLog
from oborona.eventlog.periods import PERIODS
from oborona.eventlog.slots import DAY_S, slot_name
from oborona.eventlog.tables.parquet import read_table, write_table
from oborona.eventlog.tables.table_file import TableMismatch
from tests.eventlog.erasing_program import eraser, state
from tests.eventlog.test_merger import MergedLog
from tests.eventlog.worlds import HASHER, SLOT_S, START, made_rows, opened_log

ROBOT = HASHER.person("robot 1")
HALF_HOUR, DAY = PERIODS


@pytest.fixture
def merged(tmp_path: Path) -> Iterator[MergedLog]:
    """A log: 24 tables that are merged, and 6 that wait for it."""
    with opened_log(tmp_path) as log:
        yield prepared(MergedLog(log))


def prepared(log: MergedLog, *, slots: int = 30, rows: int = 3_000, merged: int = 24) -> MergedLog:
    tables = made_rows(41, slots, rows)
    names = list(tables)
    log.give({name: tables[name] for name in names[:merged]})
    log.now += 3601
    log.merge()
    log.give({name: tables[name] for name in names[merged:]})
    return log


def erase(merged: MergedLog, person: int | None = ROBOT) -> ErasureBook:
    book = ErasureBook(merged.log.store, "clicks")
    assert person is not None
    book.ask([person], merged.now)
    assert eraser(merged).step()
    assert not eraser(merged).step()
    return book


def files(merged: MergedLog) -> list[Path]:
    return sorted(merged.log.folder.path.rglob("*.parquet"))


def has(path: Path, person: int | None) -> bool:
    table = pq.read_table(path, partitioning=None)
    return "person" in table.column_names and person in table.column("person").to_pylist()


def test_no_file_has_the_person_and_all_other_rows_are_as_they_were(merged: MergedLog) -> None:
    before = {period.name: merged.rows(period) for period in PERIODS}
    folder = merged.log.folder
    for name in folder.tables()[:3]:  # as old ones go; their histories went the day before
        folder.keys(name).unlink()
        folder.counts(name).unlink()
        folder.remove(name)
    had = [path for path in files(merged) if has(path, ROBOT)]
    assert len(had) > 20
    erasure = erase(merged).all()[0]
    assert not [path for path in files(merged) if has(path, ROBOT)]
    gone = 0
    for period in PERIODS:
        left = [row for row in before[period.name] if str(ROBOT) not in row]
        gone = len(before[period.name]) - len(left)
        assert merged.rows(period) == left
        assert erasure.removed[period.name] == gone > 0
    assert erasure.removed[STREAM] > gone / 2, "three tables are gone, six are not merged"
    assert (erasure.person, erasure.unread) == (None, ())


def test_what_waits_is_checked_and_merged_as_if_the_person_had_never_been(
    merged: MergedLog,
) -> None:
    late = slot_name(START + 30 * SLOT_S)
    row = made_rows(42, 1, 1)[slot_name(START)][0] | {"person": ROBOT, "key": 7}
    merged.log.deliver(late, [row, row | {"id": 2, "person": None, "key": None}])
    erase(merged)
    merged.log.check()
    merged.now += 3601
    assert merged.merge() > 0
    assert read_table(merged.log.folder.checked(late)).num_rows == 1
    for period in PERIODS:
        assert not [row for row in merged.rows(period) if str(ROBOT) in row]
    aside = merged.log.store.set_aside("clicks")
    assert not aside, "no table has other rows than what is written down of it"
    merged.now += 3 * DAY_S
    while merged.retention.step():
        merged.now += 0
    assert merged.log.folder.tables() == []


def test_a_slot_that_is_damaged_later_is_written_anew_without_the_person(
    merged: MergedLog,
) -> None:
    erase(merged)
    slot = next(iter(merged.delivered(HALF_HOUR).counts()))
    late = {slot_name(START + 40 * SLOT_S): made_rows(43, 1, 20)[slot_name(START)]}
    merged.give(late)
    merged.now += 3601
    table = merged.delivered(HALF_HOUR)
    last = sorted(table.counts())[-2]
    rows = table.rows(table.files(last))
    assert rows is not None
    assert rows.num_rows
    assert slot <= last
    table.replace(1, last, rows.slice(1).append_column("slot", pa.array([last] * (len(rows) - 1))))
    merged.merge()
    for period in PERIODS:
        assert not [row for row in merged.rows(period) if str(ROBOT) in row]


def test_histories_forget_what_the_person_said_and_how_often(merged: MergedLog) -> None:
    folder = merged.log.folder
    names = folder.tables()
    keys = {
        row["key"]
        for name in names
        for row in read_table(folder.source(name)).to_pylist()
        if row["person"] == ROBOT
    }
    erase(merged)
    for name in names:
        assert ROBOT not in read_table(folder.counts(name)).column("person").to_pylist()
        assert not keys & set(read_table(folder.keys(name)).column("key").to_pylist())


def test_who_is_killed_anywhere_goes_on(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    asked.mkdir()
    with opened_log(asked) as log:
        merged = prepared(MergedLog(log), slots=3, rows=300, merged=2)
        ErasureBook(log.store, "clicks").ask([ROBOT or 0], merged.now)
    words = [sys.executable, "-m", "tests.eventlog.erasing_program", str(tmp_path)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=250)
    assert int(done.stdout) > 12


def test_a_table_with_other_rows_than_written_down_is_told_and_nothing_is_lost(
    merged: MergedLog,
) -> None:
    name = merged.log.folder.tables()[3]
    source = merged.log.folder.source(name)
    write_table(source, read_table(source).slice(1))
    ErasureBook(merged.log.store, "clicks").ask([ROBOT or 0], merged.now)
    with pytest.raises(TableMismatch, match="other rows than delivered"):
        eraser(merged).step()
    assert ErasureBook(merged.log.store, "clicks").open(begun=True) is not None


def test_a_table_that_cannot_be_read_is_named(merged: MergedLog) -> None:
    name = merged.log.folder.tables()[3]
    merged.log.folder.source(name).write_bytes(b"PAR1 no table PAR1")
    assert erase(merged).all()[0].unread == (name,)


def test_a_person_of_whom_nothing_is_there_changes_nothing(merged: MergedLog) -> None:
    before = state(merged)
    erase(merged, HASHER.person("nobody"))
    assert {**state(merged), "erasures": []} == {**before, "erasures": []}


def test_what_persons_are_called_in_logs() -> None:
    feedback = persons_of(("Ann@B.Example",), FeedbackLog, HASHER)
    assert feedback == {HASHER.person("Ann@B.Example"), HASHER.person("ann@b.example")}
    messages = persons_of(("ann",), MessageLog, HASHER)
    assert messages == {HASHER.person(f"{kind} ann") for kind in ("account", "author", "network")}
    assert persons_of(("17", "ann"), None, HASHER) == {HASHER.person("17\0ann")}
    for parts, log in (((), None), (("",), None), (("a", ""), None), (("a", "b"), FeedbackLog)):
        with pytest.raises(ConfigError):
            persons_of(parts, log, HASHER)


def test_reasons_that_name_the_person_go(tmp_path: Path) -> None:
    path = tmp_path / "2026-11-23T10:05.jsonl"
    kept = b'{"record":1,"why":"page is empty"}\n'
    path.write_bytes(
        kept + b'{"record":2,"why":"at = \'Ann@b.example\' is no time"}\n' + b"ann@B.example half"
    )
    assert scrub_reasons(tmp_path, ["ann@b.example"]) == 2
    assert path.read_bytes() == kept
    assert scrub_reasons(tmp_path / "none", ["ann"]) == 0
