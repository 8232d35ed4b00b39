"""A checksum of rows: the same in any order and layout, another for any other rows."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from oborona.eventlog.tables.checksum import checksum, row_hashes

SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("n", pa.float64()),
        ("t", pa.string()),
        ("f", pa.bool_()),
        ("m", pa.timestamp("us", "UTC")),
        ("r", pa.list_(pa.string())),
    ]
)
ROW = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "n": st.none() | st.floats(),
        "t": st.none() | st.text(max_size=5),
        "f": st.none() | st.booleans(),
        "m": st.none() | st.datetimes(timezones=st.just(UTC)),
        "r": st.lists(st.sampled_from(["A", "B", "AB"]), max_size=3),
    }
)
ROWS = st.lists(ROW, max_size=30)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@given(ROWS, st.randoms(use_true_random=False), st.integers(0, 30))
def test_order_and_layout_change_nothing(
    rows: list[dict[str, Any]], drawn: random.Random, cut: int
) -> None:
    whole = checksum(table(rows))
    shuffled = list(rows)
    drawn.shuffle(shuffled)
    assert checksum(table(shuffled)) == whole
    assert checksum(pa.concat_tables([table(rows[:cut]), table(rows[cut:])])) == whole
    assert checksum(table(rows).select(list(reversed(SCHEMA.names)))) == whole


@given(ROWS.filter(bool), st.data())
def test_a_row_lost_or_doubled_is_told(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    assert checksum(table(rows[:place] + rows[place + 1 :])) != checksum(table(rows))
    assert checksum(table([*rows, rows[place]])) != checksum(table(rows))


@given(ROW, ROW)
def test_other_rows_have_other_hashes(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = row_hashes(table([one, other])).tolist()
    same = all(
        one[name] == other[name] or (one[name] != one[name] and other[name] != other[name])
        for name in SCHEMA.names
    )
    assert (first == second) == same


def test_a_value_in_another_column_is_another_row() -> None:
    pair = pa.table({"a": ["x"], "b": ["y"]})
    assert checksum(pair) != checksum(pa.table({"a": ["y"], "b": ["x"]}))
    assert checksum(pair) == checksum(pa.table({"b": ["y"], "a": ["x"]}))


def test_it_stays_what_it_is() -> None:
    rows: list[dict[str, Any]] = [
        {
            "i": 1,
            "n": 0.5,
            "t": "\u0439",
            "f": True,
            "m": datetime(2026, 1, 1, tzinfo=UTC),
            "r": [],
        },
        {"i": None, "n": None, "t": None, "f": None, "m": None, "r": ["A"]},
    ]
    assert f"{checksum(table(rows)):016x}" == "02ba39ef502bd542"
    assert checksum(table([])) == 0
