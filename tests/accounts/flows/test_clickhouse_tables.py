"""The SELECTs that come with Oborona read the tables that goflow2 and Akvorado make."""

from pathlib import Path

import pytest

from oborona.accounts.flows.clickhouse_sql import CLOCK, ClickHouseQuery, columns_query
from tests.accounts.flows import chdb_engine
from tests.accounts.flows.test_clickhouse import START, by_clickhouse, sums

SHIPPED = Path(__file__).parents[3] / "etc/clickhouse"
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
