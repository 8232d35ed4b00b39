"""Flow records as JSON lines: whatever comes, each line is a record, of no matter, or wrong."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.json_lines import FieldNames, JsonRecords, parse_json_lines

GOOD: dict[str, Any] = {
    "type": "NETFLOW_V9", "time_received_ns": 1_700_000_001_000_000_000, "sampling_rate": 0,
    "sampler_address": "203.0.113.1", "time_flow_start_ns": 1_700_000_000_100_000_000,
    "time_flow_end_ns": 1_700_000_000_900_000_000, "bytes": 4800, "packets": 12,
    "src_addr": "192.0.2.1", "dst_addr": "198.51.100.7", "proto": "TCP", "src_port": 40000,
    "dst_port": 25, "tcp_flags": 27,
}  # fmt: skip


def parsed(*lines: Any) -> JsonRecords:
    octets = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return parse_json_lines(octets, AddressTable(), FieldNames())


def test_a_line_of_goflow2_is_a_record() -> None:
    told = parsed(GOOD)
    assert (len(told.records), told.wrong, told.exporters) == (1, 0, ["203.0.113.1"])
    assert told.records.begin.tolist() == [1_700_000_000_100]
    assert told.records.end.tolist() == [1_700_000_000_900]
    assert told.records.octets.tolist() == [4800]


@pytest.mark.parametrize("unit", [1, 1000, 1_000_000_000])
def test_times_may_be_in_any_unit(unit: int) -> None:
    times = dict.fromkeys(
        ("time_received_ns", "time_flow_start_ns", "time_flow_end_ns"), 1700000000 * unit
    )
    assert parsed(GOOD | times).records.begin.tolist() == [1_700_000_000_000]


@pytest.mark.parametrize("other", [{"proto": "UDP"}, {"dst_port": 443}, {"proto": 17}])
def test_what_is_no_smtp_is_no_matter(other: dict[str, Any]) -> None:
    told = parsed(GOOD | other)
    assert (len(told.records), told.wrong) == (0, 0)


@pytest.mark.parametrize(
    "bad",
    [
        {"src_addr": "nobody"}, {"src_addr": 5}, {"packets": -1}, {"packets": 1.5},
        {"packets": True}, {"bytes": 1 << 63}, {"bytes": "9" * 30}, {"dst_addr": None},
    ],
)  # fmt: skip
def test_a_record_that_is_none_is_wrong(bad: dict[str, Any]) -> None:
    told = parsed(GOOD | bad, GOOD)
    assert (len(told.records), told.wrong) == (1, 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.lists(st.dictionaries(st.sampled_from(sorted(GOOD)), VALUES, max_size=6), max_size=6))
def test_no_value_of_any_member_raises(changes: list[dict[str, Any]]) -> None:
    told = parsed(*(GOOD | change for change in changes), GOOD)
    assert len(told.records) >= 1
    assert len(told.records) + told.wrong <= len(changes) + 1


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_no_line_of_any_kind_raises(lines: list[bytes]) -> None:
    told = parsed(*lines, GOOD)
    assert len(told.records) == 1


def test_a_line_that_is_nested_deep_is_wrong() -> None:
    assert parsed(b"[" * 100_000, b'{"a":' * 100_000).wrong == 2
