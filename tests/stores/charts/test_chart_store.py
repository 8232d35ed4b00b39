"""The file of charts: what is added, what there is room for, and what a kill leaves."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from oborona.errors import StoreError
from oborona.sqlite_file import SqliteFileDamaged
from oborona.stores.charts import sources
from oborona.stores.charts.differences import ProcessCount
from oborona.stores.charts.reader import ChartReader, ChartSeries, ChartStep
from oborona.stores.charts.schema import DAY_S, DAYS_KEPT, TEN_S
from oborona.stores.charts.store import ChartSample, ChartStore, TakenSample

NOW = 1_800_000_000.0
NAME = "verdicts/content/accept"


def sample(count: int, at: float = NOW, *, pid: int = 1, name: str = NAME) -> ChartSample:
    return counted({name: count}, at, pid=pid)


def counted(counts: dict[str, int], at: float = NOW, *, pid: int = 1) -> ChartSample:
    process = ProcessCount(pid=pid, time=at, counts=counts)
    return ChartSample(time=at, processes={"worker-0": process}, place=1)


def total(path: Path, name: str = NAME, step: ChartStep = ChartStep.TEN_MINUTES) -> int:
    with ChartReader(path) as reader:
        return sum(reader.values([name], step, 0, 1 << 40).get(name, {}).values())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chart.db"


@pytest.fixture
def store(path: Path) -> ChartStore:
    made = ChartStore(path)
    made.take(ChartSample(time=NOW - 60, place=1))
    return made


def test_what_was_counted_before_the_file_is_in_no_chart(path: Path) -> None:
    with ChartStore(path) as store:
        assert store.take(sample(1000)) == TakenSample(True, frozenset())
        store.take(sample(1003, NOW + 60))
    assert total(path) == 3
    assert total(path, step=ChartStep.DAY) == 3


def test_a_look_that_brings_nothing_is_told(store: ChartStore) -> None:
    assert store.take(sample(5)).changed
    assert not store.take(sample(5, NOW + 60)).changed
    assert store.take(sample(5, NOW + 120, pid=2)).changed


def test_a_process_that_begins_anew_is_counted_once(path: Path, store: ChartStore) -> None:
    store.take(sample(5))
    store.take(sample(2, NOW + 60, pid=2))
    store.take(sample(2, NOW + 60, pid=2))
    store.close()
    with ChartStore(path) as again:
        again.take(sample(2, NOW + 60, pid=2))
    assert total(path) == 7


def test_what_waits_is_kept_by_its_largest(path: Path, store: ChartStore) -> None:
    name = "queues/events"
    for size, changed in ((0, False), (3, True), (7, True), (7, False), (2, True), (0, True)):
        look = ChartSample(time=NOW, queues={name: size})
        assert store.take(look).changed is changed, size
    with ChartReader(path) as reader:
        assert reader.values([name], ChartStep.DAY, 0, 1 << 40) == {name: {int(NOW // DAY_S): 7}}
        assert reader.series("queues/") == [ChartSeries(name, most=True)]


def test_what_there_is_no_room_for_is_summed_and_said_once(
    path: Path, store: ChartStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sources.ROOM, "rules", 3)
    rules = {f"rules/live/R{number}": number + 1 for number in range(6)}
    assert store.take(counted(rules)).full == {"rules"}
    more = {name: 2 * count for name, count in rules.items()}
    assert store.take(counted(more, NOW + 60)).full == frozenset()
    with ChartReader(path) as reader:
        assert [one.name for one in reader.series("rules/")] == [
            "rules/live/R0", "rules/live/R1", "rules/live/R2", "rules/live/other",
        ]  # fmt: skip
        assert reader.sums("rules/", ChartStep.TEN_MINUTES, 0, 1 << 40)["rules/live/other"] == 30


def test_what_is_larger_takes_the_place_of_what_is_small_the_next_day(
    path: Path, store: ChartStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sources.ROOM, "rules", 2)
    first = {"rules/live/SMALL": 1, "rules/live/LARGE": 50, "rules/live/NEW": 30}
    store.take(counted(first))
    store.take(counted(first | {"rules/live/NEW": 40}, NOW + DAY_S))
    store.take(counted(first | {"rules/live/NEW": 45}, NOW + DAY_S + 60))
    store.close()
    found = {name: total(path, f"rules/live/{name}") for name in ("SMALL", "LARGE", "NEW", "other")}
    assert found == {"SMALL": 0, "LARGE": 50, "NEW": 15, "other": 31}
    assert sum(found.values()) == 96


def test_old_times_go_and_so_do_series_without_any(path: Path, store: ChartStore) -> None:
    store.take(sample(5))
    store.take(ChartSample(time=NOW + 20 * DAY_S))
    assert total(path) == 0
    assert total(path, step=ChartStep.DAY) == 5
    store.take(ChartSample(time=NOW + (DAYS_KEPT + 1) * DAY_S))
    with ChartReader(path) as reader:
        assert reader.series() == []
        assert reader.begins() is None


def test_a_name_of_others_is_one_label() -> None:
    assert sources.series_name("domains", "spam", "a/b\x1b\n.example") == (
        "domains/spam/a_b__.example"
    )
    assert len(sources.series_name("domains", "spam", "x" * 9999)) < 200
    assert sources.series_name("a", "") == "a/_"


def test_an_error_within_leaves_nothing_of_a_look(path: Path, store: ChartStore) -> None:
    bad = counted({NAME: 3, "rules/live/R": 1 << 70})
    with pytest.raises(OverflowError):
        store.take(bad)
    assert total(path) == 0
    store.take(counted({NAME: 3, "rules/live/R": 1}))
    assert (total(path), total(path, "rules/live/R")) == (3, 1)


def test_a_full_disk_loses_nothing(path: Path, store: ChartStore) -> None:
    store.take(sample(5))
    with store.told() as db:
        db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreError, match="no room"):
            store.take(counted({f"domains/spam/{number}.example": 1 for number in range(9999)}))
        db.execute("PRAGMA max_page_count = 100000")
    store.take(sample(9, NOW + 60))
    assert total(path) == 9


def killed_at(path: Path, step: int, look: ChartSample) -> bool:
    """Take a look in a child that is killed at a step; return whether it came to its end."""
    child = os.fork()
    if not child:
        left = step

        def count(*_: object) -> int:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return 0

        store = ChartStore(path)
        store._db.set_trace_callback(count)
        store.take(look)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_a_kill_at_any_step_counts_nothing_twice_and_loses_nothing(
    path: Path, store: ChartStore
) -> None:
    store.take(counted({NAME: 1, "rules/live/R": 1}))
    store.close()
    ended = 0
    for step in range(40):
        count = step + 2
        look = counted({NAME: count, "rules/live/R": 2 * count}, NOW + 700.0 * step)
        ended += killed_at(path, step, look)
        with ChartStore(path) as again:
            again.take(look)
        assert (total(path), total(path, "rules/live/R")) == (count, 2 * count), step
        assert total(path, step=ChartStep.DAY) == count
    assert 0 < ended < 40


@pytest.mark.parametrize("where", ["header", "page", "name", "mark"])
def test_a_damaged_file_is_told(path: Path, store: ChartStore, where: str) -> None:
    store.take(counted({f"rules/live/R{number}": 1 for number in range(500)}))
    store.close()
    if where in ("header", "page"):
        octets = bytearray(path.read_bytes())
        octets[0 if where == "header" else 100 : 4096] = b"\xff" * 3000
        path.write_bytes(octets)
    else:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE series SET name = x'ff00' WHERE id = 1" if where == "name" else "UPDATE mark SET mark = 'x' WHERE process = 'journal'")  # fmt: skip
    with pytest.raises(SqliteFileDamaged):
        ChartStore(path).take(sample(5))


def test_a_reader_says_that_there_is_no_file(path: Path) -> None:
    with pytest.raises(StoreError, match="there are no charts yet"):
        ChartReader(path)


def test_a_day_of_a_series_is_read_by_its_times(path: Path, store: ChartStore) -> None:
    for number in range(1, 10):
        store.take(sample(number, NOW + TEN_S * number))
    first = int(NOW // TEN_S)
    with ChartReader(path) as reader:
        found = reader.values([NAME, "no/such"], ChartStep.TEN_MINUTES, first, first + 2)
    assert list(found) == [NAME]
    assert set(found[NAME]) <= {first, first + 1, first + 2}
