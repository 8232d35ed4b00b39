"""Half hours and days hold each checked row once, whatever is late, killed or damaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from oborona.eventlog.merge.merger import LogMerger
from oborona.eventlog.merge.retention import LogRetention
from oborona.eventlog.periods import PERIODS, UNKNOWN, Period
from oborona.eventlog.slots import DAY_S, delivered_at, slot_name
from oborona.eventlog.tables.delta import DeliveredTable
from oborona.eventlog.tables.parquet import read_table
from oborona.eventlog.tables.table_file import TableMismatch
from tests.eventlog.worlds import SLOT_S, START, CheckedLog, made_rows, opened_log

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
HALF_HOUR, DAY = PERIODS


class MergedLog:
    """A log with what checks, merges and forgets, by a clock that the test turns."""

    def __init__(self, log: CheckedLog) -> None:
        self.log = log
        self.now = START + 100.0
        self.merger = LogMerger(
            "clicks", log.folder, log.store, ready_s=3600, clock=lambda: self.now
        )
        self.retention = LogRetention(
            "clicks", log.folder, log.store, keep_days=30, clock=lambda: self.now
        )
        log.checker._clock = lambda: self.now

    def give(self, tables: Rows) -> None:
        """Deliver and check tables."""
        for name, rows in tables.items():
            self.log.deliver(name, rows)
        self.log.check()

    def merge(self) -> int:
        """Merge all that is ready; return in how many commits."""
        steps = 0
        while self.merger.step():
            steps += 1
        return steps

    def delivered(self, period: Period) -> DeliveredTable:
        """Return the table of a period."""
        return DeliveredTable(self.log.folder.delivered(period.name), period.column)

    def rows(self, period: Period) -> list[tuple[Any, ...]]:
        """Return the rows of a period with their slots, sorted."""
        table = self.delivered(period)
        rows = []
        for slot in table.counts():
            part = table.rows(table.files(slot))
            assert part is not None
            rows += [(slot, *map(str, row.values())) for row in part.to_pylist()]
        return sorted(rows)

    def wanted(self, names: Sequence[str], period: Period) -> list[tuple[Any, ...]]:
        """Return what the rows of a period must be, from the checked tables."""
        return sorted(
            (slot_of(row["time"], name, period), *map(str, row.values()))
            for name in names
            for row in read_table(self.log.folder.checked(name)).to_pylist()
        )


def slot_of(time: datetime | None, table: str, period: Period) -> str:
    """Return the slot of a time, as the page says it."""
    last = datetime.fromtimestamp(delivered_at(table) + SLOT_S + DAY_S, UTC)
    if time is None or not datetime(2000, 1, 1, tzinfo=UTC) <= time <= last:
        return UNKNOWN
    if period is DAY:
        return f"{time:%Y-%m-%d}"
    return f"{time:%Y-%m-%dT%H}:{'00' if time.minute < 30 else '30'}"


@pytest.fixture
def merged(tmp_path: Path) -> Iterator[MergedLog]:
    """A log in which nothing is delivered yet."""
    with opened_log(tmp_path) as log:
        yield MergedLog(log)


def test_each_checked_row_is_in_its_half_hour_and_its_day_once(merged: MergedLog) -> None:
    tables = made_rows(31, 30, 3_000)
    merged.give(tables)
    assert merged.merge() == 0  # nothing is ready before an hour has passed
    merged.now += 3601
    assert merged.merge() == 4  # 24 tables and 6, of two periods
    for period in PERIODS:
        assert merged.rows(period) == merged.wanted(list(tables), period)
        assert UNKNOWN in merged.delivered(period).counts()
    assert merged.merge() == 0


def test_late_rows_are_added_to_what_was_delivered(merged: MergedLog) -> None:
    tables = made_rows(32, 12, 1_200)
    names = list(tables)
    merged.give({name: tables[name] for name in names[:6]})
    merged.now += 3601
    merged.merge()
    merged.give({name: tables[name] for name in names[6:]})
    assert merged.merge() == 0
    merged.now += 1800
    merged.give({slot_name(START + 3 * 3600): []})
    merged.now += 1801
    assert merged.merge() > 0
    for period in PERIODS:
        assert merged.rows(period) == merged.wanted(names, period)


class Killed(BaseException):
    """What stands for kill -9 where nothing that was written may be undone."""


@pytest.mark.parametrize("when", ["before", "after", "finish"])
def test_killed_around_a_commit_nothing_is_lost_or_doubled(
    merged: MergedLog, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    tables = made_rows(33, 6, 900)
    merged.give(tables)
    merged.now += 3601
    append = DeliveredTable.append

    def killed(*given: Any) -> None:
        if when == "after":
            append(*given)
        raise Killed

    monkeypatch.setattr(DeliveredTable, "append", killed)
    if when == "finish":
        monkeypatch.undo()
        monkeypatch.setattr("oborona.eventlog.merge.book.MergeBook.finish", killed)
    kills = 0
    for _ in range(3):
        try:
            merged.merger.step()
        except Killed:
            kills += 1
    assert kills == (2 if when == "after" else 3)  # what was appended is not appended again
    monkeypatch.undo()
    merged.merge()
    for period in PERIODS:
        assert merged.rows(period) == merged.wanted(list(tables), period)


@pytest.mark.parametrize("fault", ["lost", "doubled", "changed", "lost and doubled"])
def test_a_row_that_went_wrong_is_found_and_the_slot_written_anew(
    merged: MergedLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    tables = made_rows(34, 6, 900)
    merged.give(tables)
    merged.now += 3601
    append = DeliveredTable.append

    def wrong(self: DeliveredTable, number: int, rows: pa.Table) -> None:
        if "lost" in fault:
            rows = rows.slice(1)
        if "doubled" in fault:
            rows = pa.concat_tables([rows, rows.slice(7, 1)])
        if fault == "changed":
            ids = pa.array([-1, *rows.column("id").to_pylist()[1:]], pa.int64())
            rows = rows.set_column(0, rows.schema.field(0), ids)
        append(self, number, rows)

    monkeypatch.setattr(DeliveredTable, "append", wrong)
    merged.merge()
    assert "is written anew" in caplog.text
    for period in PERIODS:
        assert merged.rows(period) == merged.wanted(list(tables), period)


def test_where_checked_tables_are_gone_the_merge_waits_and_is_told(
    merged: MergedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = made_rows(35, 2, 200)
    first, second = tables
    merged.give({first: tables[first]})
    merged.now += 3601
    merged.merge()
    merged.log.folder.checked(first).unlink()
    append = DeliveredTable.append
    monkeypatch.setattr(DeliveredTable, "append", lambda self, n, rows: append(self, n, rows[1:]))
    merged.give({second: tables[second]})
    merged.now += 3601
    for _ in range(2):
        with pytest.raises(TableMismatch, match="can't be written anew"):
            merged.merger.step()


def test_others_read_what_is_delivered(merged: MergedLog) -> None:
    tables = made_rows(36, 6, 600)
    merged.give(tables)
    merged.now += 3601
    merged.merge()
    files = sorted(merged.delivered(DAY).files())
    fired = Counter(rule for name in tables for rules in merged.log.rules(name) for rule in rules)
    with duckdb.connect() as database:
        (count,) = database.execute(
            "SELECT count(*) FROM read_parquet(?) WHERE list_contains(rules, 'ABNORMAL')", [files]
        ).fetchall()
    assert count == (fired["ABNORMAL"],)


def test_what_is_old_goes_when_it_is_merged_and_not_before(merged: MergedLog) -> None:
    tables = made_rows(37, 6, 600)
    merged.give(tables)
    merged.now += 10 * 86_400
    assert merged.retention.step()
    assert not merged.retention.step()
    assert merged.log.folder.tables() == list(tables)
    merged.merge()
    days = merged.rows(DAY)
    merged.now += 3601
    assert merged.retention.step()
    assert merged.log.folder.tables() == []
    assert not merged.log.folder.checked(next(iter(tables))).exists()
    assert set(merged.delivered(HALF_HOUR).counts()) == {UNKNOWN}
    assert merged.rows(DAY) == days
    # what comes for a half hour that is gone is delivered all the same, and a day is added to
    late = made_rows(38, 1, 50)
    merged.give({f"{name}.late": rows for name, rows in late.items()})
    merged.now += 3601
    merged.merge()
    assert len(merged.rows(DAY)) == len(days) + 50
    merged.now += 40 * 86_400
    merged.retention.step()
    assert set(merged.delivered(DAY).counts()) <= {UNKNOWN}
