"""Which windows of a table are asked for, and when; each once."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.accounts.flows.measurement import FlowRules
from oborona.accounts.flows.store import DAY_S, FileState, FlowFile, FlowStore
from oborona.daemon.flows.clickhouse import (
    AT_A_LOOK,
    ClickHouseWindows,
    records_select,
    window_name,
    window_start,
)
from oborona.errors import ConfigError

START = 1_700_000_040  # a full minute
SETTLE_S = 20.0


class Clock:
    """A ClickHouse of which the time alone is asked."""

    def __init__(self, time: float) -> None:
        self.time = time
        self.asked = 0

    def clock(self) -> float:
        self.asked += 1
        return self.time


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FlowStore]:
    with FlowStore(tmp_path / "flows.db") as made:
        yield made


def windows(store: FlowStore, clock: Clock) -> ClickHouseWindows:
    return ClickHouseWindows(clock, "SELECT", store, FlowRules(), settle_s=SETTLE_S)  # type: ignore[arg-type]


def note(
    store: FlowStore, start: int, state: FileState = FileState.TAKEN, taken: float = 0
) -> None:
    store.note(
        FlowFile(name=window_name(start), size=0, state=state, tries=1, taken=taken or start + 90.0)
    )


def ready(source: ClickHouseWindows, now: float) -> list[int]:
    return [window_start(unit.name) or 0 for unit in source.ready(now)]


def test_the_first_is_the_last_that_is_over_and_has_settled(store: FlowStore) -> None:
    clock = Clock(START + 60 + SETTLE_S)
    source = windows(store, clock)
    assert ready(source, clock.time) == [START]
    note(store, START)
    assert ready(source, clock.time + 1) == []
    assert ready(source, clock.time + 2) == []
    clock.time += 60
    assert ready(source, clock.time) == [START + 60]


def test_clickhouse_is_not_asked_while_no_window_is_over(store: FlowStore) -> None:
    clock = Clock(START + 60 + SETTLE_S)
    source = windows(store, clock)
    ready(source, clock.time)
    note(store, START)
    ready(source, clock.time)
    asked = clock.asked
    assert ready(source, clock.time + 59) == []
    assert clock.asked == asked


@pytest.mark.parametrize(("ours", "theirs"), [(0, -300), (-300, 0)])
def test_a_window_waits_for_the_clock_that_is_behind(
    store: FlowStore, ours: int, theirs: int
) -> None:
    now = START + 600 + SETTLE_S
    assert ready(windows(store, Clock(now + theirs)), now + ours) == [START + 240]


def test_what_was_missed_is_caught_up_oldest_first_some_at_a_time(store: FlowStore) -> None:
    note(store, START)
    now = START + 3600.0 + SETTLE_S
    source = windows(store, Clock(now))
    found = []
    while some := ready(source, now):
        assert len(some) <= AT_A_LOOK
        found += some
        for start in some:
            note(store, start, taken=now)
    assert found == list(range(START + 60, START + 3600, 60))


def test_no_more_than_a_day_is_caught_up_which_is_said(
    store: FlowStore, caplog: pytest.LogCaptureFixture
) -> None:
    note(store, START)
    now = START + 3 * DAY_S + SETTLE_S
    with caplog.at_level(logging.WARNING):
        found = ready(windows(store, Clock(now)), now)
    assert found[0] == START + 2 * DAY_S + 60
    (given_up,) = caplog.records
    assert "older than a day" in given_up.message


def test_a_window_that_fails_is_asked_for_again_and_holds_up_no_other(store: FlowStore) -> None:
    now = START + 240.0 + SETTLE_S
    note(store, START, FileState.FAILING, taken=now)
    note(store, START + 60, taken=now)
    source = windows(store, Clock(now))
    assert ready(source, now + 5) == [START + 120, START + 180]
    assert ready(source, now + 11) == [START, START + 120, START + 180]
    (first, *_) = source.ready(now + 11)
    assert first.known is not None
    note(store, START, FileState.DAMAGED, taken=now)
    assert ready(source, now + 12) == [START + 120, START + 180]


def test_files_of_other_sources_are_none_of_its_windows(store: FlowStore) -> None:
    store.note(
        FlowFile(name="nfcapd.202311142214", size=9, state=FileState.TAKEN, taken=START - 500.0)
    )
    assert window_start("nfcapd.202311142214") is None
    assert ready(windows(store, Clock(START + 80)), START + 80) == [START]


def test_a_name_is_the_minute() -> None:
    assert window_name(START) == "clickhouse.202311142214"
    assert window_start(window_name(START)) == START


@pytest.mark.parametrize("name", ["goflow2", "akvorado"])
def test_shipped_selects_are_there(name: str) -> None:
    assert "{start:UInt32}" in records_select(name)


@pytest.mark.parametrize("octets", [None, b"\xff", b"x" * 65_537])
def test_a_select_that_can_not_be_read_is_said(tmp_path: Path, octets: bytes | None) -> None:
    path = tmp_path / "mine.sql"
    if octets is not None:
        path.write_bytes(octets)
    with pytest.raises(ConfigError, match=r"flows\.records"):
        records_select(str(path))
