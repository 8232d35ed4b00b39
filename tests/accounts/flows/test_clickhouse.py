"""Windows that ClickHouse adds up are those that we add up of the same records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.clickhouse_sql import (
    COLUMNS,
)
from oborona.accounts.flows.clickhouse_window import read_window
from oborona.accounts.flows.flow_taker import ReadFile
from oborona.accounts.flows.measurement import FlowRules, measure
from oborona.accounts.flows.nfdump import ExporterCounts, FileDamaged
from oborona.accounts.flows.records import from_rows
from oborona.accounts.flows.windows import SYN
from oborona.reputation.networks import network
from tests.accounts.flows import chdb_engine

START = 1_700_000_040  # a full minute
MS = START * 1000
OURS = ("192.0.2.0/24", "2001:db8::/32", "10.0.0.0/8", "::/0")
Row = tuple[int, int, int, str, str, int, int, int, int, int, int, str, int]


def row(**told: object) -> Row:
    """Return a record of a stream, in the order of the columns."""
    usual: dict[str, object] = {
        "received": MS + 9000, "begin": MS + 5000, "end": MS + 8000, "source": "192.0.2.5",
        "destination": "198.51.100.1", "source_port": 1, "destination_port": 25, "protocol": 6,
        "packets": 3, "octets": 700, "flags": SYN, "exporter": "203.0.113.1", "sampling": 1,
    }  # fmt: skip
    return tuple((usual | told).values())  # type: ignore[return-value]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    received = MS + draw(st.integers(0, 59_999))
    begin = received + draw(st.one_of(st.integers(-30, 5), st.integers(-400_000, 100_000)))
    return row(
        received=received,
        begin=begin,
        end=begin + draw(st.one_of(st.integers(0, 20), st.integers(-400_000, 100_000))),
        source=draw(
            st.sampled_from(
                ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2", "2001:db8::1", "10.0.0.1", "fe80::1",
                 "203.0.113.9"]
            )
        ),
        destination=draw(
            st.sampled_from(["198.51.100.1", "::ffff:198.51.100.1", "10.9.9.9", "2001:db8:9::1"])
        ),
        source_port=draw(st.integers(1, 3)),
        destination_port=draw(st.sampled_from([25, 465, 587, 2525, 80])),
        protocol=draw(st.sampled_from([6, 6, 6, 17])),
        packets=draw(st.integers(0, 1 << 40)),
        octets=draw(st.one_of(st.integers(0, 1200), st.integers(0, 1 << 45))),
        flags=draw(st.sampled_from([0, 0x02, 0x04, 0x10, 0x1B, 0x1F])),
        exporter=draw(st.sampled_from(["203.0.113.1", "2001:db8:f::2", "::"])),
        sampling=draw(st.sampled_from([0, 1, 1, 100])),
    )  # fmt: skip


def by_us(told: list[Row], rules: FlowRules) -> ReadFile:
    table = AddressTable()
    exporters: dict[str, int] = {}
    sampling: dict[str, int] = {}
    columns = []
    own = OwnSources(map(network, OURS), table)
    for (received, begin, end, source, destination, source_port, port, protocol, packets, octets,
         flags, exporter, rate) in told:  # fmt: skip
        if protocol != 6 or port not in (25, 465, 587, 2525):
            continue
        if not own.select(np.array([table.id_of(source)])).all():
            continue
        sampling[exporter] = max(sampling.get(exporter, 1), rate)
        columns.append(
            (table.id_of(source), table.id_of(destination), source_port, packets, octets, begin,
             end, received, flags, exporters.setdefault(exporter, len(exporters)))
        )  # fmt: skip
    return measure(
        from_rows(columns),
        list(exporters),
        {name: ExporterCounts() for name in exporters},
        FlowRules(
            active_timeout_s=rules.active_timeout_s,
            believed=rules.believed,
            rates={**sampling, **rules.rates},
        ),
        table, name="w", size=0, received=START, wrong=0,
    )  # fmt: skip


def by_clickhouse(
    told: list[Row],
    rules: FlowRules = FlowRules(),  # noqa: B008 - frozen
    records: str = chdb_engine.RECORDS,
) -> ReadFile:
    chdb_engine.tell(told)
    table = AddressTable()
    own = OwnSources(map(network, OURS), table)
    return read_window(chdb_engine.ask, records, rules, table, own, name="w", start=START)


def sums(read: ReadFile) -> dict[str, tuple[object, ...]]:
    text = read.table.text_of
    return {
        text(int(source)): (
            *(int(getattr(window, name)[place]) for name in
              ("packets", "octets", "streams", "at_once", "destinations", "refused", "sampled")),
            sorted(map(text, window.pair_destination[window.pair_source == place].tolist())),
        )
        for window in read.windows
        for place, source in enumerate(window.source)
    }  # fmt: skip


def told_of(read: ReadFile) -> dict[str, tuple[object, ...]]:
    return {
        each.exporter: (
            each.records, each.times_wrong, pytest.approx(each.lag_s), pytest.approx(each.shared),
            each.sampling, each.start,
        )
        for each in read.exporters
        if each.records
    }  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(rows(), max_size=40),
    st.sampled_from([frozenset[str](), frozenset({"203.0.113.1", "::"})]),
    st.sampled_from([{}, {"203.0.113.1": 7}, {"2001:db8:f::2": 1}]),
)
def test_the_sums_are_ours(
    told: list[Row], believed: frozenset[str], rates: dict[str, int]
) -> None:
    rules = FlowRules(active_timeout_s=300, believed=believed, rates=rates)
    theirs, ours = by_clickhouse(told, rules), by_us(told, rules)
    assert sums(theirs) == sums(ours)
    assert told_of(theirs) == told_of(ours)
    assert (theirs.records, theirs.wrong) == (ours.records, 0)
    for window in theirs.windows:
        assert window.start == START
        assert (np.diff(window.source) > 0).all()
        assert (np.diff(window.pair_source) >= 0).all()


def test_times_that_are_not_told_tell_nothing_of_streams_at_once() -> None:
    read = by_clickhouse(
        [row(), row(begin=0, end=0), row(source="192.0.2.6", end=0), row(source="192.0.2.7")]
    )
    assert {source: told[3] for source, told in sums(read).items()} == {
        "192.0.2.5": -1, "192.0.2.6": -1, "192.0.2.7": 1,
    }  # fmt: skip
    (exporter,) = read.exporters
    assert (exporter.times_wrong, exporter.lag_s) == (0, 1.0)


def test_a_time_of_receipt_that_is_not_told_is_the_begin_of_the_window() -> None:
    (exporter,) = by_clickhouse([row(received=0, begin=MS - 3000, end=MS - 2000)]).exporters
    assert (exporter.times_wrong, exporter.lag_s) == (0, 2.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"destination": ""},
        {"source": "1.2.3"},
        {"octets": -1},
        {"packets": (1 << 62) + 1},
        {"received": START + 9},
    ],
)
def test_a_record_that_is_none_is_counted_as_wrong(wrong: dict[str, object]) -> None:
    every = chdb_engine.RECORDS.partition("WHERE")[0]
    with pytest.raises(FileDamaged, match="none of its 1 records"):
        by_clickhouse([row(**wrong)], records=every)
    read = by_clickhouse([row(), row(**wrong)], records=every)
    assert (read.records, read.wrong) == (1, 1)


def test_null_is_what_is_not_told() -> None:
    columns = [column for column in COLUMNS if column not in ("destination_port", "protocol")]
    for column in columns:
        null = ", ".join(f"NULL AS {c}" if c == column else c for c in COLUMNS)
        records = f"SELECT {null} FROM told UNION ALL SELECT {', '.join(COLUMNS)} FROM told"
        read = by_clickhouse([row(source="192.0.2.7")], records=records)
        is_wrong = column in ("source", "destination", "packets", "octets")
        assert (read.records, read.wrong) == ((1, 1) if is_wrong else (2, 0)), column


def test_amounts_that_overflow_stay_at_the_most() -> None:
    read = by_clickhouse([row(octets=1 << 62, source_port=port) for port in range(5)])
    assert sums(read)["192.0.2.5"][1] == 1 << 62
    scaled = by_clickhouse([row(octets=1 << 61, sampling=1000)])
    assert (1 << 62) - 1000 < int(str(sums(scaled)["192.0.2.5"][1])) <= 1 << 62


def test_of_many_destinations_a_thousand_are_told_and_all_counted() -> None:
    told = [row(destination=f"198.51.{n // 250}.{n % 250}", source_port=n) for n in range(1500)]
    *_, destinations, _refused, _sampled, to = sums(by_clickhouse(told))["192.0.2.5"]
    assert destinations == 1500
    assert isinstance(to, list)
    assert len(set(to)) == 1000


def test_nothing_makes_no_window() -> None:
    read = by_clickhouse([])
    assert (read.windows, read.exporters, read.records) == ([], [], 0)


def test_without_networks_nothing_is_ours() -> None:
    chdb_engine.tell([row()])
    table = AddressTable()
    read = read_window(
        chdb_engine.ask, chdb_engine.RECORDS, FlowRules(), table, OwnSources([], table),
        name="w", start=START,
    )  # fmt: skip
    assert read.windows == []
