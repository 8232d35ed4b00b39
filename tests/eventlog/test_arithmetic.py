"""Each function of numbers, on pairs of numbers that engines and Python may see otherwise: equal to
the last bit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import ibis
import pyarrow as pa
import pytest

from oborona.eventlog.rules import arithmetic, clock
from oborona.policy.expression import runtime
from oborona.policy.expression.clock import hour, weekday, zone
from tests.eventlog.random_expressions import VALUES

CHANCE = random.Random(1)
NUMBERS = [
    *VALUES,
    *(CHANCE.uniform(-100, 100) for _ in range(20)),
    # halves of the last digit that is kept: their doubles lie above, below and on them
    *(CHANCE.randrange(-(10**6), 10**6) * 10 + 5 for _ in range(5)),
    *((CHANCE.randrange(-(10**6), 10**6) * 10 + 5) / 10**digits for digits in range(1, 10) for _ in range(8)),
    *(math.nextafter(CHANCE.randrange(1, 1000) + 0.5, math.inf) for _ in range(5)),
]  # fmt: skip
PAIRS = [(x, y) for x in NUMBERS for y in NUMBERS]
TABLE = ibis.memtable(
    pa.table(
        {
            "id": list(range(len(PAIRS))),
            "x": pa.array([x for x, _ in PAIRS], pa.float64()),
            "y": pa.array([y for _, y in PAIRS], pa.float64()),
        }
    )
)


def known(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numbers that is none where one of them is."""
    return lambda *numbers: None if None in numbers else function(*numbers)


def same(mine: float | None, theirs: float | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return mine == theirs or (math.isnan(mine) and math.isnan(theirs))


def unequal(of_table: ibis.Value, function: Callable[[Any, Any], Any]) -> list[Any]:
    found = TABLE.select("id", z=of_table).order_by("id").to_pyarrow()["z"].to_pylist()
    return [
        (pair, mine, theirs)
        for pair, theirs in zip(PAIRS, found, strict=True)
        if not same(mine := known(function)(*pair), theirs)
    ]


@pytest.mark.parametrize(
    ("of_table", "function"),
    [
        (arithmetic.divided, runtime.divide),
        (arithmetic.whole_division, runtime.whole),
        (arithmetic.remainder, runtime.remainder),
        (arithmetic.share, runtime.share),
        (lambda x, y: arithmetic.smallest([x, y]), min),
        (lambda x, y: arithmetic.largest([x, y]), max),
        *(
            (lambda x, y, digits=digits: arithmetic.rounded(x, digits) + y * 0.0, lambda x, y, digits=digits: runtime.rounded(x, digits) + y * 0.0)
            for digits in (0, 1, 2, 3, 9)
        ),
    ],
)  # fmt: skip
def test_an_engine_calculates_as_python_does(
    of_table: Callable[..., Any], function: Callable[..., Any]
) -> None:
    assert unequal(of_table(TABLE.x, TABLE.y), function) == []


@pytest.mark.parametrize("divisor", [1.0, -1.0, 0.1, 7.0, -0.3, 1e15, 5e-324, 1e308])
@pytest.mark.parametrize(
    ("of_table", "function"),
    [
        (arithmetic.divided, runtime.divide),
        (arithmetic.whole_division, runtime.whole),
        (arithmetic.remainder, runtime.remainder),
    ],
)
def test_a_divisor_that_stands_in_the_rule_gives_the_same(
    of_table: Callable[..., Any], function: Callable[..., Any], divisor: float
) -> None:
    of = of_table(TABLE.x, arithmetic.double(divisor), divisor) + TABLE.y * 0.0
    assert unequal(of, lambda x, y: function(x, divisor) + y * 0.0) == []


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_an_engine_compares_as_python_does(sign: str) -> None:
    of_table = arithmetic.compared(TABLE.x, sign, TABLE.y, of_nan=(True, True))
    found = TABLE.select("id", z=arithmetic.known(of_table)).order_by("id").to_pyarrow()["z"]
    for (x, y), theirs in zip(PAIRS, found.to_pylist(), strict=True):
        mine = None not in (x, y) and eval(f"x {sign} y", {"x": x, "y": y})
        assert theirs is mine, (x, y)


def test_odds_are_equal_but_for_the_last_digit() -> None:
    found = TABLE.select("id", z=arithmetic.log_odds(TABLE.x)).order_by("id").to_pyarrow()["z"]
    for (x, _), theirs in zip(PAIRS, found.to_pylist(), strict=True):
        mine = None if x is None else runtime.log_odds(x)
        assert same(mine, theirs) or math.isclose(mine or 0, theirs, rel_tol=1e-14), x


@pytest.mark.parametrize("name", ["UTC", "Europe/Moscow", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca"])  # fmt: skip
def test_the_hour_is_that_of_the_zone(name: str) -> None:
    chance = random.Random(name)
    changes = [span.begins for span in clock.spans(name)]
    times = [
        *(chance.randrange(0, 4_102_444_799 * 10**6) / 1e6 for _ in range(500)),
        *(change + near for change in changes for near in (-0.5, 0.0, 3599.5) if change),
    ]
    micros = [round(now * 1e6) for now in times]
    table = ibis.memtable(pa.table({"id": list(range(len(times))), "now": micros}))
    found = (
        table.select("id", hour=clock.hour(table.now, name), day=clock.weekday(table.now, name))
        .order_by("id")
        .to_pyarrow()
        .to_pylist()
    )
    of = partial(zone, name)()
    for now, row in zip(times, found, strict=True):
        assert (row["hour"], row["day"]) == (hour(of, now), weekday(of, now)), now
