"""Windows of flows: exact, as a plain count of the same records."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.records import FlowRecords, RecordColumns, from_rows
from oborona.accounts.flows.windows import (
    AHEAD_MS,
    REFUSED_OCTETS,
    RST,
    SYN,
    clamp,
    exporter_sums,
    windows,
)

START = 1_700_000_040  # a full minute
MS = START * 1000
TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Row:
    source: int
    destination: int
    port: int
    packets: int
    octets: int
    begin: int
    end: int
    received: int
    flags: int
    exporter: int

    def values(self) -> tuple[int, ...]:
        return (
            self.source,
            self.destination,
            self.port,
            self.packets,
            self.octets,
            self.begin,
            self.end,
            self.received,
            self.flags,
            self.exporter,
        )


@st.composite
def row(draw: st.DrawFn) -> Row:
    received = MS + draw(st.integers(0, 179_999))
    begin = received - draw(st.integers(0, 60_000))
    return Row(
        source=draw(st.integers(1, 4)),
        destination=draw(st.integers(1, 5)),
        port=draw(st.integers(1, 3)),
        packets=draw(st.integers(0, 1 << 40)),
        octets=draw(st.one_of(st.integers(0, 1200), st.integers(0, 1 << 50))),
        begin=begin,
        end=begin + draw(st.integers(0, received - begin)),
        received=received,
        flags=draw(st.integers(0, 255)),
        exporter=draw(st.integers(0, 1)),
    )


def at_once(rows: list[Row]) -> int:
    events = sorted([(r.begin, 0) for r in rows] + [(r.end, 1) for r in rows])
    now = most = 0
    for _, ends in events:
        now += -1 if ends else 1
        most = max(most, now)
    return most


@given(st.lists(row(), min_size=1, max_size=40), st.permutations(range(40)))
def test_windows_are_a_plain_count_in_any_order(rows: list[Row], order: list[int]) -> None:
    shuffled = [rows[place] for place in order if place < len(rows)]
    found = windows(
        from_rows([r.values() for r in shuffled]),
        START,
        180,
        sampled=[False, False],
        timeless=[False, False],
    )
    expected = defaultdict[tuple[int, int], list[Row]](list)
    for r in rows:
        expected[START + (r.received - MS) // 60_000 * 60, r.source].append(r)
    told = {
        (window.start, int(source)): (
            int(window.packets[place]),
            int(window.octets[place]),
            int(window.streams[place]),
            int(window.at_once[place]),
            int(window.destinations[place]),
            int(window.refused[place]),
            sorted(window.pair_destination[window.pair_source == place].tolist()),
        )
        for window in found
        for place, source in enumerate(window.source)
    }
    assert told == {
        key: (
            sum(r.packets for r in mine),
            sum(r.octets for r in mine),
            len(mine),
            at_once(mine),
            len({r.destination for r in mine}),
            sum(
                bool(
                    (r.octets < REFUSED_OCTETS and (r.flags & SYN or not r.flags)) or r.flags & RST
                )
                for r in mine
            ),
            sorted({r.destination for r in mine}),
        )
        for key, mine in expected.items()
    }


@given(
    st.lists(
        st.tuples(*[st.integers(-(1 << 40), 1 << 41)] * 2, st.integers(MS, MS + 60_000)),
        min_size=1,
        max_size=30,
    )
)
def test_after_clamping_no_time_is_impossible(times: list[tuple[int, int, int]]) -> None:
    rows = [(1, 2, 3, 1, 1, begin, end, received, 0, 0) for begin, end, received in times]
    records = from_rows(rows)
    wrong = clamp(records, TIMEOUT_S)
    earliest = records.received - int(TIMEOUT_S * 1000)
    assert (records.begin >= earliest).all()
    assert (records.end <= records.received + AHEAD_MS).all()
    assert (records.begin <= records.end).all()
    for (begin, end, received), is_wrong in zip(times, wrong, strict=True):
        right = received - TIMEOUT_S * 1000 <= begin <= end <= received + AHEAD_MS
        assert right != is_wrong


def records_of(exporter: int, number: int, *, wrong: int = 0) -> FlowRecords:
    rows = []
    for place in range(number):
        end = MS - 3_600_000 if place < wrong else MS + 100
        rows.append((9, place, place, 2, 700, MS, end, MS + 1000, SYN, exporter))
    return from_rows(rows)


def test_of_a_sampled_exporter_streams_are_marked() -> None:
    (window,) = windows(records_of(0, 5), START, 60, sampled=[True], timeless=[False])
    assert window.sampled.tolist() == [True]


def test_times_that_can_not_be_believed_tell_nothing_of_streams_at_once() -> None:
    records = records_of(0, 5, wrong=2)
    wrong = clamp(records, TIMEOUT_S)
    (sums,) = exporter_sums(records, wrong, 1)
    assert (sums.records, sums.times_wrong) == (5, 2)
    (window,) = windows(records, START, 60, sampled=[False], timeless=[True])
    assert window.at_once.tolist() == [-1]
    assert window.streams.tolist() == [5]


def test_two_routers_that_tell_of_the_same_streams_are_found() -> None:
    gathered = RecordColumns()
    gathered.add(records_of(0, 10))
    gathered.add(records_of(1, 6))
    records = gathered.records()
    first, second = exporter_sums(records, clamp(records, TIMEOUT_S), 2)
    assert (first.shared, second.shared) == (0.6, 1.0)


def test_nothing_makes_no_window() -> None:
    assert windows(from_rows([]), START, 60, sampled=[], timeless=[]) == []


@pytest.mark.parametrize("text", ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"])
def test_an_address_comes_back(text: str) -> None:
    table = AddressTable()
    assert table.text_of(table.id_of(text)) == text.removeprefix("::ffff:")


@pytest.mark.parametrize(
    "text", ["", "1.2.3", "1.2.3.4.5", "01.2.3.4", "a::b::c", "1.2.3.4 ", "256.1.1.1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        AddressTable().id_of(text)


def test_amounts_keep_every_bit() -> None:
    most = (1 << 53) + 1  # a double has no such number
    records = from_rows([(1, 2, 3, most, most, MS, MS, MS, SYN, 0)])
    (window,) = windows(records, START, 60, sampled=[False], timeless=[False])
    assert window.octets.tolist() == [most]
    assert window.packets.dtype == np.int64
