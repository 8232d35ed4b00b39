"""Figures of a report: what the book of event logs tells of checks, merges, rows and days."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.eventlog.batch.store import DroppedFile, DropState, LogBatch, LogStore
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook
from oborona.eventlog.daily.book import DayPassBook
from oborona.eventlog.report import days as of_days
from oborona.eventlog.report.figures import MOST_LISTED, LogFigures, RuleFigure
from oborona.eventlog.report.log_report import report_figures
from oborona.eventlog.report.span import MOST_PIECES, span_of
from oborona.eventlog.slots import DAY_S
from tests.eventlog.reported import HOUR_S, NOON, NOW, checked, delivered, merged, passed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LogStore]:
    with LogStore(tmp_path / "eventlog.db") as opened:
        yield opened


def figures_of(store: LogStore, days: int = 2, log: str = "clicks") -> LogFigures:
    (found,) = report_figures(store, [log], {}, days=days, now=NOW, late_s=HOUR_S).logs
    return found


def test_tables_are_told_by_the_half_hour_in_which_they_were_delivered(store: LogStore) -> None:
    checked(store, NOON - 600, delay_s=2, rows=10, fired={"A": 4, "B (shadow)": 6}, marked=4)
    checked(store, NOON - 300, delay_s=8, rows=30, fired={"A": 1}, marked=1)
    checked(store, NOON, delay_s=3700, rows=0)
    checked(store, NOON - 3 * DAY_S, rows=500)  # before the time of the report
    checked(store, NOON, log="other", rows=700)
    found = figures_of(store)
    assert [
        (one.time, one.tables, one.median_s, one.longest_s, one.late) for one in found.delays
    ] == [
        ("2025-11-23T11:30", 2, 5.0, 8.0, 0),
        ("2025-11-23T12:00", 1, 3700.0, 3700.0, 1),
    ]
    assert [(one.rows, one.per_table, one.most, one.marked, one.share) for one in found.rows] == [
        (40, 20.0, 30, 5, 0.125),
        (0, 0.0, 0, 0, 0.0),
    ]
    assert found.rules == (
        RuleFigure(rule="B", shadow=True, rows=6, share=0.15),
        RuleFigure(rule="A", shadow=False, rows=5, share=0.125),
    )
    totals = found.totals
    assert (totals.tables, totals.late, totals.longest_s, totals.rows) == (3, 1, 3700.0, 40)
    assert (totals.marked, totals.share) == (5, 0.125)


def test_batches_that_were_given_up_took_no_time(store: LogStore) -> None:
    checked(store, NOON, delay_s=3)
    name = delivered(store, NOON + 300)
    batch = LogBatch(id=0, log="clicks", tables=(name,), rules="", thresholds={}, begun=NOON + 300)
    store.drop(store.begin(batch), {}, NOON + 500)
    again = store.begin(batch)
    store.retry(again)
    store.finish(again, [], NOON + 400, 1.25)
    (found,) = figures_of(store).batches
    assert (found.batches, found.tables, found.again) == (2, 2, 1)
    assert (found.median_s, found.longest_s, found.cpu_s) == (51.0, 100.0, 1.8)


def test_a_clock_that_was_set_back_makes_no_time_less_than_none(store: LogStore) -> None:
    checked(store, NOON, delay_s=-50)
    found = figures_of(store)
    assert found.delays[0].longest_s == 0.0
    assert found.batches[0].longest_s == 0.0


def test_merges_wait_from_the_delivery_of_each_table(store: LogStore) -> None:
    names = [checked(store, NOON - 600), checked(store, NOON - 4 * DAY_S)]
    merged(store, "30min", names, NOON)
    merged(store, "30min", names[:1], NOON + 60, repaired=("2025-11-23T11:30",))
    merged(store, "1d", ["2025-11-01T00:00"], NOON)  # a table that is not known any more
    found = figures_of(store).merges
    (half,) = found["30min"]
    assert (half.merges, half.tables, half.rows, half.repaired) == (2, 3, 30, 1)
    assert (half.median_s, half.longest_s) == (660.0, 4 * DAY_S)
    assert [(one.tables, one.longest_s) for one in found["1d"]] == [(1, 0.0)]


def test_an_hour_stands_beside_the_same_hour_on_seven_days(store: LogStore) -> None:
    for day in range(1, 9):
        checked(store, NOON - HOUR_S - day * DAY_S, rows=2000 + 10 * day)
    checked(store, NOON - HOUR_S, rows=9000)
    found = {one.time: one for one in figures_of(store, days=30).hours}
    last, before = found["2025-11-23T11:00"], found["2025-11-22T11:00"]
    assert (last.rows, last.usual, last.far) == (9000, 2040.0, True)
    assert (before.rows, before.usual, before.far) == (
        2010,
        2045.0,
        False,
    )  # the hour in which a log begins counts for nothing
    assert found["2025-11-18T11:00"].usual is None  # too few days before
    assert found["2025-11-23T10:00"].usual == 0.0
    assert "2025-11-23T12:00" not in found  # it is not over
    assert len(found) == 7 * 24


def test_thresholds_have_their_leaps_and_few_events_are_shown(store: LogStore) -> None:
    book = ThresholdBook(store, "clicks")
    lines = {"2025-11-19": 100.04, "2025-11-20": 110.0, "2025-11-21": 400.0, "2025-11-22": 120.0}
    book.renew(
        [
            EventThreshold(date=date, event="click", threshold=line, people=30, most=90.0)
            for date, line in lines.items()
        ]
    )
    found = figures_of(store, days=4)
    assert [(one.date, one.threshold, one.leapt) for one in found.thresholds] == [
        ("2025-11-19", 100.0, False),
        ("2025-11-20", 110.0, False),
        ("2025-11-21", 400.0, True),
        ("2025-11-22", 120.0, False),
    ]
    book.renew(
        [
            EventThreshold(
                date="2025-11-22", event=f"e{place:03}", threshold=1, people=100 + place, most=1
            )
            for place in range(100)
        ]
    )
    found = figures_of(store, days=4)
    events = {one.event for one in found.thresholds}
    assert len(events) == of_days.MOST_EVENTS
    assert {"click", "e099"} <= events  # one leapt, most persons had the other
    assert found.thresholds_left_out == 101 - of_days.MOST_EVENTS


def test_the_last_pass_over_a_day_counts(store: LogStore) -> None:
    passed(store, "2025-11-20", rows=1000, revised=500, persons=9)
    passed(store, "2025-11-20", rows=1000, revised=5, marked=70, persons=2)
    passed(store, "2025-11-21", rows=800, why="the day could not be gone over")
    passed(store, "2025-11-22", rows=-1, revised=8, persons=3)  # it was written anew since
    passed(store, "2025-11-01", rows=1000, revised=5)
    found = figures_of(store, days=5).passes
    assert [
        (one.date, one.rows, one.revised, one.share, one.marked, one.persons) for one in found
    ] == [
        ("2025-11-20", 1000, 5, 0.005, 70, 2),
        ("2025-11-21", 800, 0, 0.0, 0, 0),
        ("2025-11-22", 0, 0, 0.0, 0, 0),
    ]
    assert [one.why for one in found] == ["", "the day could not be gone over", of_days.ANEW]
    assert DayPassBook(store, "other").outcomes("2000-01-01") == []


def test_a_year_of_days_is_told_by_the_week(store: LogStore) -> None:
    for month in range(1, 11):
        for day in range(1, 29):
            passed(store, f"2025-{month:02}-{day:02}", rows=100, revised=1, persons=1)
    found = figures_of(store, days=365).passes
    assert len(found) <= 53
    assert sum(one.days for one in found) == sum(one.persons for one in found) == 280
    assert {one.share for one in found} == {0.01}


def test_what_waits_and_what_was_set_aside_is_named(store: LogStore) -> None:
    name = delivered(store, NOON - 2 * HOUR_S, rows=3)
    delivered(store, NOON - 300, why="it is cut short")
    for place in range(MOST_LISTED + 5):
        store.note_file(
            "clicks",
            DroppedFile(
                file=f"{place:03}.csv",
                size=1,
                changed=1,
                seen=NOON,
                name="",
                state=DropState.ASIDE,
                why="too large",
            ),
        )
    found = figures_of(store)
    (waiting,) = found.waiting
    assert (waiting.table, waiting.rows, waiting.late) == (name, 3, True)
    assert (waiting.delivered, waiting.waits_s) == ("2025-11-23T10:00", NOW - NOON + 2 * HOUR_S)
    assert found.totals.waiting == 1
    assert found.totals.aside == MOST_LISTED + 6
    assert len(found.aside) == MOST_LISTED
    assert found.aside[0].why == "it is cut short"


def test_of_a_log_without_tables_there_is_nothing(store: LogStore) -> None:
    found = figures_of(store)
    assert found.totals.tables == found.totals.rows == 0
    assert found.totals.share == found.totals.longest_s == 0.0
    lists = (found.delays, found.batches, found.rows, found.rules, found.hours, found.passes)
    assert not any(lists)
    assert found.merges == {"30min": (), "1d": ()}


@given(st.integers(1, 3660), st.floats(1e9, 4e9), st.sampled_from([300, DAY_S]))
def test_a_span_has_few_pieces_and_all_of_its_time(days: int, now: float, least_s: int) -> None:
    span = span_of(days, now, least_s)
    assert span.piece_s >= least_s
    assert span.first <= now - days * DAY_S < span.first + span.piece_s
    assert span.start(now) < span.ends
    assert (span.ends - span.first) / span.piece_s <= MOST_PIECES + 1
    assert span.pieces([span.first - 1.0, float(span.ends)], float) == {}
    assert sum(map(len, span.pieces([now, float(span.first)], float).values())) == 2
