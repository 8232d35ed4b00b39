"""A batch against an oracle that knows nothing of engines, and what a batch may meet."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

from oborona.errors import StoreError
from oborona.eventlog.batch import run
from oborona.eventlog.batch.rows import with_rules
from oborona.eventlog.engines.engine import EngineMemoryError
from oborona.eventlog.engines.local import LocalEngine
from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.slots import slot_name
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum
from oborona.eventlog.tables.parquet import read_table, write_table
from oborona.eventlog.tables.table_file import TableMismatch
from oborona.eventlog.transform.check import fired_rules
from tests.eventlog.oracle import BruteForceOracle
from tests.eventlog.worlds import (
    CLICKS,
    SLOT_S,
    START,
    CheckedLog,
    as_table,
    made_rows,
    opened_log,
    tree,
)

Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def compare(log: CheckedLog, tables: Tables) -> int:
    """Hold each batch of a log against the oracle; return how many rows fired a rule."""
    oracle = BruteForceOracle(CLICKS.thresholds, CLICKS.threshold)
    marked = 0
    for batch in reversed(log.store.batches("clicks", 1000)):
        wanted = oracle.batch({name: tables[name] for name in batch.tables}) if batch.tables else {}
        for name, rules in wanted.items():
            assert log.rules(name) == rules, (batch.id, name)
            marked += sum(map(bool, rules))
    return marked


@pytest.mark.parametrize(
    ("most", "slots", "rows"), [(1, 40, 6_000), (7, 100, 50_000), (288, 100, 50_000)]
)
def test_what_fires_is_what_the_oracle_says(
    tmp_path: Path, most: int, slots: int, rows: int
) -> None:
    tables = made_rows(most, slots, rows, every=3)  # 100 of them are over a day
    with opened_log(tmp_path, most=most) as log:
        for name, its_rows in tables.items():
            log.deliver(name, its_rows)
        assert log.check() == -(-slots // most)
        marked = compare(log, tables)
        checked = log.store.checked("clicks")
    assert [table.name for table in checked] == sorted(tables)
    assert sum(table.marked for table in checked) == marked
    assert sum(table.fired.get("DUPLICATE", 0) for table in checked) > rows // 100
    assert sum(table.fired.get("ABNORMAL", 0) for table in checked) > rows // 100


def test_tables_in_any_order_are_checked_as_the_oracle_does(tmp_path: Path) -> None:
    tables = made_rows(5, 60, 6_000)
    order = list(tables)
    random.Random(5).shuffle(order)
    with opened_log(tmp_path, most=4) as log:
        for place in range(0, len(order), 9):
            for name in order[place : place + 9]:
                log.deliver(name, tables[name])
            log.check()
        assert compare(log, tables) > 500


def test_a_checked_table_is_its_source_with_one_more_column(tmp_path: Path) -> None:
    tables = made_rows(3, 3, 900)
    with opened_log(tmp_path) as log:
        for name, rows in tables.items():
            log.deliver(name, rows)
        log.check()
        for name in tables:
            source = read_table(log.folder.source(name), arrow_schema(CLICKS))
            checked = read_table(log.folder.checked(name))
            assert checked.column_names == [*source.column_names, "rules"]
            without = checked.drop_columns(["rules", "amount"])
            assert without.equals(source.drop_columns(["amount"]))
            assert str(checked["amount"].to_pylist()) == str(source["amount"].to_pylist())  # NaN


def test_an_empty_table_is_checked_too(tmp_path: Path) -> None:
    with opened_log(tmp_path) as log:
        log.deliver("2025-11-23T10:00", [])
        assert log.check() == 1
        assert log.rules("2025-11-23T10:00") == []


def test_of_the_same_moment_the_first_that_was_delivered_is_the_original(tmp_path: Path) -> None:
    row = made_rows(1, 1, 50)[slot_name(START)][0]
    first, second = slot_name(START), slot_name(START + SLOT_S)
    with opened_log(tmp_path) as log:
        log.deliver(second, [row, row])
        log.check()
        log.deliver(first, [row])
        log.check()
        assert log.rules(second) == [[], ["DUPLICATE"]]
        assert log.rules(first) == [["DUPLICATE"]]


def test_a_day_is_forgotten_after_a_day(tmp_path: Path) -> None:
    row = made_rows(1, 1, 50)[slot_name(START)][0] | {"time": None}
    with opened_log(tmp_path) as log:
        for ago in (288, 287, 0):
            log.deliver(slot_name(START - ago * SLOT_S), [row])
            log.check()
        kept = {path.stem for path in log.folder.keys("x").parent.iterdir()}
        assert log.rules(slot_name(START)) == [["DUPLICATE"]]
        assert kept == {slot_name(START - 287 * SLOT_S), slot_name(START)}
    with opened_log(tmp_path / "other") as log:
        for ago in (288, 0):
            log.deliver(slot_name(START - ago * SLOT_S), [row])
            log.check()
        assert log.rules(slot_name(START)) == [[]]


def test_rules_of_a_policy_stand_behind_those_of_the_system(tmp_path: Path) -> None:
    rules = EventRules(
        "test",
        {
            "SHARED": lambda events: events.event == "share",
            "DEAR": ((ibis._.amount > 0.5) & ~ibis._.amount.isnan()).fill_null(False),
        },
        live=("SHARED", "DEAR"),
    )
    tables = made_rows(9, 1, 2_000)
    (name,) = tables
    with opened_log(tmp_path, rules=lambda: rules) as log:
        log.deliver(name, tables[name])
        log.check()
        fired = log.rules(name)
        (checked,) = log.store.checked("clicks")
    oracle = BruteForceOracle(CLICKS.thresholds, CLICKS.threshold).batch(tables)[name]
    assert fired == [
        system
        + ["SHARED"] * (row["event"] == "share")
        + ["DEAR"] * (row["amount"] is not None and row["amount"] > 0.5)
        for system, row in zip(oracle, tables[name], strict=True)
    ]
    assert checked.fired["SHARED"] == sum(row["event"] == "share" for row in tables[name])


def test_a_table_that_rotted_is_set_aside_and_the_others_go_on(tmp_path: Path) -> None:
    tables = made_rows(4, 4, 400)
    names = list(tables)
    with opened_log(tmp_path) as log:
        for name, rows in tables.items():
            log.deliver(name, rows)
        cut = log.folder.source(names[0])
        cut.write_bytes(cut.read_bytes()[:-50])
        log.folder.source(names[1]).unlink()
        lost = as_table(tables[names[2]][1:])
        write_table(log.folder.source(names[2]), lost)
        log.check()
        assert [table.name for table in log.store.checked("clicks")] == [names[3]]
        why = {table.name: table.why for table in log.store.sources("clicks") if table.why}
    assert set(why) == set(names[:3])
    assert "is no whole Parquet file" in why[names[0]]
    assert "No such file" in why[names[1]]
    assert why[names[2]] == "it has other rows than when it was delivered"


def test_what_was_remembered_and_lost_is_made_again(tmp_path: Path) -> None:
    tables = made_rows(6, 6, 1_200)
    with opened_log(tmp_path, most=3) as log:
        for name, rows in tables.items():
            log.deliver(name, rows)
        assert log.checker.step()
        for path in log.folder.keys("x").parent.iterdir():
            path.unlink()
        log.check()
        assert compare(log, tables) > 0


def test_a_lost_row_is_never_delivered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = made_rows(7, 1, 100)
    (name,) = tables
    whole = with_rules
    with opened_log(tmp_path) as log:
        log.deliver(name, tables[name])
        for wrong in (
            lambda table: table.slice(1),
            lambda table: pa.concat_tables([table, table.slice(5, 1)]),
            lambda table: pa.concat_tables([table.slice(1), table.slice(5, 1)]),
        ):
            monkeypatch.setattr(
                run,
                "with_rules",
                lambda *given, wrong=wrong: {n: wrong(t) for n, t in whole(*given).items()},
            )
            with pytest.raises(TableMismatch, match="would hold"):
                log.checker.step()
            assert not log.folder.checked(name).exists()
        monkeypatch.setattr(run, "with_rules", whole)
        log.check()
        assert checksum(read_table(log.folder.source(name))) == checksum(
            read_table(log.folder.checked(name)).drop_columns(["rules"])
        )


def test_a_batch_that_memory_does_not_hold_is_tried_in_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = made_rows(8, 8, 800)
    whole = fired_rules
    with opened_log(tmp_path, most=8) as log:

        def too_large(events: Any, *others: Any) -> Any:
            if log.checker._engine.collect(events).num_rows > 250:
                raise EngineMemoryError("too much")
            return whole(events, *others)

        monkeypatch.setattr(run, "fired_rules", too_large)
        for name, rows in tables.items():
            log.deliver(name, rows)
        log.check()
        assert [table.name for table in log.store.checked("clicks")] == list(tables)
        compare(log, tables)


def test_a_table_that_memory_does_not_hold_waits_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: Any) -> Any:
        raise EngineMemoryError("too much")

    monkeypatch.setattr(run, "fired_rules", too_large)
    with opened_log(tmp_path) as log:
        log.deliver(slot_name(START), made_rows(1, 1, 10)[slot_name(START)])
        with pytest.raises(EngineMemoryError):
            log.checker.step()
        assert log.store.checked("clicks") == []


def test_other_rules_begin_an_open_batch_anew(tmp_path: Path) -> None:
    tables = made_rows(2, 2, 200)
    with opened_log(tmp_path) as log:
        for name, rows in tables.items():
            log.deliver(name, rows)
        assert log.checker._begun() is not None
    rules = EventRules("two", {"ALL": ibis._.event == ibis._.event}, ("ALL",))
    with opened_log(tmp_path, rules=lambda: rules) as log:
        log.check()
        (batch, given_up) = log.store.batches("clicks", 10)
        assert (batch.rules, batch.tables, given_up.tables) == ("two", tuple(tables), ())
        assert all("ALL" in fired for name in tables for fired in log.rules(name))


def test_the_same_tables_are_the_same_octets_in_whatever_batches(tmp_path: Path) -> None:
    tables = made_rows(12, 12, 3_000)
    for most in (1, 5, 12):
        with opened_log(tmp_path / str(most), most=most) as log:
            for name, rows in tables.items():
                log.deliver(name, rows)
            log.check()
    wanted = tree(tmp_path / "1/logs")
    assert tree(tmp_path / "5/logs") == tree(tmp_path / "12/logs") == wanted


def test_the_engine_of_this_machine_reads_no_other_folder(tmp_path: Path) -> None:
    with (
        LocalEngine(tmp_path, tmp_path, memory_mib=64) as engine,
        pytest.raises(StoreError, match="Permission"),
    ):
        engine.files("x", [Path("/etc/passwd")], arrow_schema(CLICKS))
