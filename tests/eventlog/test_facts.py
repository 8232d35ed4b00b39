"""What rows say of a person: by an engine, and by thirty lines of Python."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import ibis
import pyarrow as pa
import pytest

from oborona.eventlog.rules.columns import column_of
from oborona.eventlog.rules.facts import with_facts
from tests.eventlog.made_rows import NOON, at, source
from tests.eventlog.random_expressions import LOG

THRESHOLDS = {"click": 3.0, "show": 1.0}
NEEDED = (
    "agent", "duplicate", "person.kinds", "person.abnormal", "person.gap", "person.minute", "person.score",
    "person.day[click]", "person.day[show]", "person.since[click]", "person.since[buy-now]", "person.distinct[agent]",
    "person.distinct[client]", "threshold[click]", "threshold[buy-now]",
)  # fmt: skip


def made(
    rows: Sequence[Mapping[str, Any]], history: Sequence[Mapping[str, Any]] | None = None
) -> list[dict[str, Any]]:
    of = ibis.memtable(source(rows))
    before = None if history is None else ibis.memtable(source(history))
    scores = ibis.memtable(pa.table({"person": [1, 2], "score": [0.5, 0.9]}))
    found = with_facts(of, LOG, NEEDED, history=before, thresholds=THRESHOLDS, scores=scores)
    rows_found: list[dict[str, Any]] = found.order_by("id").to_pyarrow().to_pylist()
    return rows_found


def oracle(
    rows: Sequence[Mapping[str, Any]], history: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the same, row by row."""
    every = sorted(
        [*rows, *history],
        key=lambda row: (row["time"] is None, row["time"] or NOON, row["id"]),
    )
    answers = []
    for row in sorted(rows, key=lambda one: one["id"]):
        place = next(place for place, one in enumerate(every) if one["id"] == row["id"])
        mine = [
            one for one in every if row["person"] is not None and one["person"] == row["person"]
        ]
        earlier = [one for one in every[:place] if one in mine]
        times = [one["time"] for one in mine if one["time"] is not None]

        def since(of: list[Mapping[str, Any]], row: Mapping[str, Any] = row) -> float | None:
            known = [one["time"] for one in of if one["time"] is not None]
            return (row["time"] - max(known)).total_seconds() if known and row["time"] else None

        day = {kind: sum(one["event"] == kind for one in mine) for kind in LOG.events}
        answers.append(
            {
                "duplicate": row["key"] is not None
                and any(one["key"] == row["key"] for one in every[:place]),
                "person.kinds": len({one["event"] for one in mine} - {None}),
                "person.abnormal": any(day[kind] > line for kind, line in THRESHOLDS.items()),
                "person.gap": since(earlier[-1:]),
                "person.minute": 1
                if row["time"] is None or row["person"] is None
                else sum(
                    row["time"] - timedelta(seconds=60) < time <= row["time"] for time in times
                ),
                "person.score": {1: 0.5, 2: 0.9}.get(row["person"]),
                "person.day[click]": day["click"],
                "person.day[show]": day["show"],
                "person.since[click]": since([one for one in earlier if one["event"] == "click"]),
                "person.since[buy-now]": since(
                    [one for one in earlier if one["event"] == "buy-now"]
                ),
                "person.distinct[agent]": len({one["agent"] for one in mine} - {None}),
                "person.distinct[client]": len({one["client"] for one in mine} - {None}),
                "threshold[click]": 3.0,
                "threshold[buy-now]": None,
            }
        )
    return answers


def random_rows(chance: random.Random, first: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": first + place,
            "key": chance.choice((None, *range(5))),
            "person": chance.choice((None, 1, 2, 3)),
            "event": chance.choice((*LOG.events, "other", None)),
            "time": chance.choice((None, *(at(chance.randrange(0, 120)) for _ in range(6)))),
            "agent": chance.choice((None, "a", "b", "c")),
            "client": chance.choice((None, "192.0.2.1", "192.0.2.2")),
        }
        for place in range(count)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_an_engine_says_what_is_counted_by_hand(seed: int) -> None:
    chance = random.Random(seed)
    rows, history = random_rows(chance, 100, 25), random_rows(chance, 0, 25)
    chance.shuffle(rows)
    for before in (None, history):
        found = made(rows, before)
        assert [row["id"] for row in found] == sorted(row["id"] for row in rows)
        for row, right in zip(found, oracle(rows, before or []), strict=True):
            assert {label: row[column_of(label)] for label in right} == right, row["id"]


def test_rows_keep_what_they_had_and_none_is_lost() -> None:
    rows: list[dict[str, Any]] = [
        {"person": 1, "event": "click", "time": at(0), "agent": "a", "tags": ["x"], "price": 2.5},
        {"person": None, "event": None, "time": None},
    ]
    first, second = made(rows)
    assert (first["agent"], first["tags"], first["price"], first["person_day_click"]) == (
        "a",
        ["x"],
        2.5,
        1,
    )
    assert (second["person_day_click"], second["person_gap"], second["duplicate"]) == (
        0,
        None,
        False,
    )


def test_no_rows_are_no_rows() -> None:
    assert made([]) == []
    assert made([], []) == []


def test_a_row_of_the_history_is_the_first_of_its_key() -> None:
    rows = [{"id": 9, "key": 1, "time": at(5)}]
    assert made(rows, [{"id": 1, "key": 1, "time": at(4)}])[0]["duplicate"]
    assert not made(rows, [{"id": 1, "key": 1, "time": at(6)}])[0]["duplicate"]
    assert made(rows, [{"id": 1, "key": 1, "time": at(5)}])[0]["duplicate"], "the smaller id"
    assert not made(rows, [{"id": 10, "key": 1, "time": at(5)}])[0]["duplicate"]
