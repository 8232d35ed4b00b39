"""Windows that ClickHouse adds up are those that we add up of the same records."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.clickhouse_sql import CLOCK, ClickHouseQuery, columns_query
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
SHIPPED = Path(__file__).parents[3] / "etc/clickhouse"
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


GOFLOW2 = """
CREATE TABLE flows_raw (date Date, time_inserted_ns DateTime64(9), time_received_ns DateTime64(9),
    time_flow_start_ns DateTime64(9), sequence_num UInt32, sampling_rate UInt64,
    sampler_address FixedString(16), src_addr FixedString(16), dst_addr FixedString(16),
    src_as UInt32, dst_as UInt32, etype UInt32, proto UInt32, src_port UInt32, dst_port UInt32,
    bytes UInt64, packets UInt64) ENGINE = MergeTree() PARTITION BY date ORDER BY time_received_ns
"""
AKVORADO = """
CREATE TABLE flows (TimeReceived DateTime CODEC(DoubleDelta, LZ4), SamplingRate UInt64,
    ExporterAddress LowCardinality(IPv6), SrcAddr IPv6 CODEC(ZSTD(1)), DstAddr IPv6 CODEC(ZSTD(1)),
    EType UInt32, Proto UInt32, SrcPort UInt16, DstPort UInt16, Bytes UInt64 CODEC(T64, LZ4),
    Packets UInt64 CODEC(T64, LZ4), ForwardingStatus UInt32) ENGINE = MergeTree
    PARTITION BY toYYYYMMDDhhmmss(toStartOfInterval(TimeReceived, toIntervalSecond(25920)))
    PRIMARY KEY toStartOfFiveMinutes(TimeReceived)
    ORDER BY (toStartOfFiveMinutes(TimeReceived), ExporterAddress)
    SETTINGS allow_suspicious_low_cardinality_types = 1
"""


def test_goflow2s_table_is_read() -> None:
    query = chdb_engine.session().query
    query(GOFLOW2)
    for source, sampler, etype, port, at in (
        ("c0000205", "cb007101", 0x0800, 25, 9),
        ("20010db8000000000000000000000005", "20010db8000f00000000000000000002", 0x86DD, 587, 59),
        ("c0000206", "cb007101", 0x0800, 443, 9),
        ("c0000207", "cb007101", 0x0800, 25, 60),
    ):
        query(
            f"INSERT INTO flows_raw SELECT toDate(at), at, at, at - 2, 1, 0, unhex('{sampler}'),"
            f" unhex('{source}'), unhex('c6336401'), 1, 2, {etype}, 6, 999, {port}, 700, 3"
            f" FROM (SELECT toDateTime64({START + at}, 9) AS at)"
        )
    read = by_clickhouse([], records=(SHIPPED / "goflow2.sql").read_text())
    v6 = "c633:6401::"  # as its sixteen octets were put
    assert sums(read) == {
        "192.0.2.5": (3, 700, 1, -1, 1, 0, 0, ["198.51.100.1"]),
        "2001:db8::5": (3, 700, 1, -1, 1, 0, 0, [v6]),
    }
    assert {each.exporter for each in read.exporters} == {"203.0.113.1", "2001:db8:f::2"}


def test_akvorados_table_is_read() -> None:
    query = chdb_engine.session().query
    query(AKVORADO)
    for source, port, at in (("192.0.2.5", 25, 0), ("2001:db8::5", 465, 59), ("192.0.2.6", 25, 60)):
        query(
            f"INSERT INTO flows SELECT toDateTime({START + at}), 1000, toIPv6('203.0.113.1'),"
            f" toIPv6('{source}'), toIPv6('198.51.100.1'), 2048, 6, 999, {port}, 700, 3, 0"
        )
    read = by_clickhouse([], records=(SHIPPED / "akvorado.sql").read_text())
    assert sums(read) == {
        "192.0.2.5": (3000, 700_000, 1, -1, 1, 0, 1, ["198.51.100.1"]),
        "2001:db8::5": (3000, 700_000, 1, -1, 1, 0, 1, ["198.51.100.1"]),
    }
    (exporter,) = read.exporters
    assert (exporter.exporter, exporter.sampling) == ("203.0.113.1", 1000)


def test_a_select_that_lacks_a_column_is_found() -> None:
    chdb_engine.session()
    assert chdb_engine.answer(*of(columns_query(chdb_engine.RECORDS))) == b""
    with pytest.raises(RuntimeError, match="sampling"):
        chdb_engine.answer(*of(columns_query("SELECT 1 AS received")))


def test_the_clock_is_a_number() -> None:
    assert chdb_engine.answer(*of(CLOCK)).strip(b"[]\n").isdigit()


def of(query: ClickHouseQuery) -> tuple[str, dict[str, str]]:
    return query.sql, dict(query.parameters)


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
