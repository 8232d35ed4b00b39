"""Answers that can't be so are refused as a whole."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.clickhouse_sql import ClickHouseQuery
from oborona.accounts.flows.clickhouse_window import read_window
from oborona.accounts.flows.measurement import FlowRules
from oborona.accounts.flows.nfdump import FileDamaged
from oborona.reputation.networks import network
from tests.accounts.flows import chdb_engine

START = 1_700_000_040


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([b"<html>"], "a row that is none"),
        ([b"[1, 2]"], "a row that is none"),
        ([b'{"exporter": 1}'], "a row that is none"),
        ([b"[1, -1, 0, 0, 0, 1]"], "a row that is none"),
        ([b"[%d, 1, 0, 0, 0, 1]" % (1 << 128)], "no address"),
        ([b"[1, 1, 0, 0, 0, 1]\n[1, 1, 0, 0, 0, 1]"], "an exporter comes twice"),
        ([b"[1, 2, 0, 0, 0, 1]", b"[281473902969345, 1, 1, 1, 1, 1, 0, 0, [7]]"], "in place of 2"),
        ([b"[1, 1, 0, 0, 0, 1]", b""], "in place of 1"),
        ([b"[1, 1, 0, 0, 0, 1]", b"[281473902969345, 1, 1, 1, 1, 1, 0, 0, [7"], "a row that is none"),
        ([b"[1, 1, 0, 0, 0, 1]", b"[281473902969345, 1, 1, 1, 1, 2, 0, 0, [7, 8]]"], "sums that can't"),
        ([b"[1, 1, 0, 0, 0, 1]", b"[281473902969345, 1, 1, 1, 1, 1, 0, 0, []]"], "sums that can't"),
        ([b"[1, 1, 0, 0, 0, 1]", b"[281473902969345, 1, 1, 1, 1, 1, 0, 0, [-7]]"], "no address"),
        ([b"[1, 1, 0, 0, 0, 1]", b"[281474087547137, 1, 1, 1, 1, 1, 0, 0, [7]]"], "not ours"),
        (
            [b"[1, 2, 0, 0, 0, 1]", b"[281473902969345, 1, 1, 1, 1, 1, 0, 0, [7]]\n" * 2],
            "a source comes twice",
        ),
    ],
)  # fmt: skip
def test_an_answer_that_can_not_be_so_is_refused_as_a_whole(
    answers: list[bytes], problem: str
) -> None:
    left = iter(answers)

    def ask(_query: ClickHouseQuery, take: Callable[[bytes], None]) -> None:
        chdb_engine.each(next(left).splitlines(), take)

    table = AddressTable()
    own = OwnSources([network("192.0.2.0/24")], table)
    with pytest.raises(FileDamaged, match=problem):
        read_window(ask, "SELECT", FlowRules(), table, own, name="w", start=START)


@given(st.binary(max_size=60))
def test_no_line_raises_anything_else(line: bytes) -> None:
    table = AddressTable()
    try:
        read_window(
            lambda _query, take: take(line), "SELECT", FlowRules(), table, OwnSources([], table),
            name="w", start=START,
        )  # fmt: skip
    except FileDamaged:
        return
    raise AssertionError("no line of octets is all answers")
