"""Thresholds of events, made anew from what persons did on the day before."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from oborona.desk.asks.event_logs import event_threshold
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook
from oborona.eventlog.slots import DAY_S, SLOT_S, slot_name
from oborona.eventlog.thresholds import LATE_S, ThresholdRenewal, renewed_threshold
from tests.eventlog.worlds import CLICKS, START, CheckedLog, opened_log

MIDNIGHT = START // 86_400 * 86_400
DATE = slot_name(MIDNIGHT)[:10]


def rows_of(persons: dict[int, int], event: str, at: float) -> list[dict[str, object]]:
    """Return so many events of each person."""
    told = [person for person, number in persons.items() for _ in range(number)]
    return [
        {
            "id": place, "time": int(at * 1e6) + place, "event": event, "person": person,
            "key": person * 10_000 + place, "page": None, "amount": None,
        }
        for place, person in enumerate(told)
    ]  # fmt: skip


def renewal(log: CheckedLog, now: float) -> ThresholdRenewal:
    """Return what makes thresholds anew, at a time."""
    return ThresholdRenewal(CLICKS, log.folder, log.store, log.engine, clock=lambda: now)


def deliver_day(log: CheckedLog, day: int, persons: dict[int, int], event: str = "show") -> None:
    """Deliver and check a table of a day, the days counted from the first."""
    at = MIDNIGHT + day * DAY_S + 40 * SLOT_S
    log.deliver(slot_name(int(at)), rows_of(persons, event, at))
    log.check()


@pytest.mark.parametrize(
    ("middle", "distance", "floor", "before", "becomes"),
    [
        (2.0, 0.0, 60.0, 60.0, 60.0),
        (100.0, 10.0, 60.0, 150.0, 100 + 9 * 14.826),
        (100.0, 0.2, 60.0, 150.0, 109.0),
        (1000.0, 100.0, 60.0, 60.0, 120.0),
        (1.0, 1.0, 60.0, 500.0, 60.0),
    ],
)
def test_a_threshold_follows_what_most_do(
    middle: float, distance: float, floor: float, before: float, becomes: float
) -> None:
    assert renewed_threshold(middle, distance, floor, before) == pytest.approx(becomes)


def test_it_is_made_of_persons_whom_no_rule_marked(tmp_path: Path) -> None:
    chance = random.Random(3)
    persons = {person: chance.randint(20, 60) for person in range(60)}
    robots = dict.fromkeys(range(100, 130), 5000)
    with opened_log(tmp_path) as log:
        deliver_day(log, 0, persons | robots)
        fired = Counter(tuple(rules) for rules in log.rules(slot_name(MIDNIGHT + 40 * SLOT_S)))
        assert fired[("ABNORMAL",)] == 30 * 5_000
        now = MIDNIGHT + DAY_S + LATE_S
        assert not renewal(log, now - 1).step(), "the day before has no tables"
        assert renewal(log, now).step()
        others, show = ThresholdBook(log.store, "clicks").history()
        assert (others.event, others.threshold) == ("", CLICKS.threshold)
        counts = list(persons.values())
        middle = median(counts)
        distance = median(abs(count - middle) for count in counts)
        right = min(2 * 60.0, middle + 9 * 1.4826 * distance)
        assert (show.date, show.event, show.people) == (DATE, "show", 60)
        assert show.threshold == pytest.approx(max(60.0, right))
        assert show.most == max(counts)
        assert not renewal(log, now).step(), "once a day"


def test_what_is_checked_later_is_held_to_it(tmp_path: Path) -> None:
    with opened_log(tmp_path) as log:
        deliver_day(log, 0, {person: 55 + person % 3 for person in range(40)})
        assert renewal(log, MIDNIGHT + DAY_S + LATE_S).step()
        ((_, line),) = [
            (name, line)
            for name, line in ThresholdBook(log.store, "clicks").newest().items()
            if name
        ]
        assert 60 < line < 80
        deliver_day(log, 1, {1: int(line), 2: int(line) + 1})
        fired = log.rules(slot_name(MIDNIGHT + DAY_S + 40 * SLOT_S))
        assert fired == [[]] * int(line) + [["ABNORMAL"]] * (int(line) + 1)


def test_a_line_doubles_at_most_and_falls_to_what_is_declared(tmp_path: Path) -> None:
    lines = []
    with opened_log(tmp_path) as log:
        for day, usual in enumerate((59, 115, 220, 3)):
            deliver_day(log, day, dict.fromkeys(range(day * 1000, day * 1000 + 30), usual))
            renewal(log, MIDNIGHT + (day + 1) * DAY_S + LATE_S).step()
            lines.append(ThresholdBook(log.store, "clicks").newest().get("show", 0.0))
    assert lines == [68.0, 68.0, 68.0, 60.0], "who is over the line does not raise it"


def test_days_are_shown_and_a_leap_is_marked() -> None:
    days = [
        EventThreshold(date=f"2025-11-{20 + day}", event="show", threshold=line, people=30, most=9)
        for day, line in enumerate((60.0, 61.0, 60.0, 190.0))
    ]
    row = event_threshold("show", days, {"": 300.0, "show": 60.0})
    assert (row.threshold, row.leapt, row.days) == (190.0, True, (60.0, 61.0, 60.0, 190.0))
    assert not event_threshold("show", days[:3], {"": 300.0, "show": 60.0}).leapt
    assert event_threshold("click", [], {"": 300.0}).threshold == 300.0


def test_few_persons_change_nothing(tmp_path: Path) -> None:
    with opened_log(tmp_path) as log:
        deliver_day(log, 0, dict.fromkeys(range(19), 59))
        assert renewal(log, MIDNIGHT + DAY_S + LATE_S).step()
        assert ThresholdBook(log.store, "clicks").newest() == {"": CLICKS.threshold}


def test_the_hand_brake_holds_to_what_is_declared(tmp_path: Path) -> None:
    with opened_log(tmp_path, renewed=False) as log:
        deliver_day(log, 0, {person: 55 + person % 3 for person in range(40)})
        renewal(log, MIDNIGHT + DAY_S + LATE_S).step()
        deliver_day(log, 1, {1: 61})
        assert log.rules(slot_name(MIDNIGHT + DAY_S + 40 * SLOT_S)) == [["ABNORMAL"]] * 61
