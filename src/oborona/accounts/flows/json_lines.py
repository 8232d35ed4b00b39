"""Flow records as JSON, one object a line: goflow2's names, or others that a mapping tells.

A value may be a number or a number in quotes.  Times are Unix seconds, milliseconds or nanoseconds,
told apart by their size; an address is text.  A line that is no record of a TCP stream to a port of
SMTP is left out: one that can't be read is counted as wrong.  Numbers beyond 2^62 are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.records import SMTP_PORTS, TCP, FlowRecords, from_rows

LINE_OCTETS: Final = 16_384  # goflow2's are 1,500 at most
MOST: Final = 1 << 62
MOST_EXPORTERS: Final = 1000
MOST_RATE: Final = 1_000_000
_SECONDS, _MILLISECONDS = 10**11, 10**14  # a time below is in seconds (until 5138), milliseconds
_DECODER: Final = msgspec.json.Decoder(dict[str, Any])


class FieldNames(msgspec.Struct, frozen=True, kw_only=True):
    """What the members of an object are called; the defaults are goflow2's (JSON format)."""

    source: str = "src_addr"
    destination: str = "dst_addr"
    source_port: str = "src_port"
    destination_port: str = "dst_port"
    protocol: str = "proto"
    packets: str = "packets"
    octets: str = "bytes"
    begin: str = "time_flow_start_ns"
    end: str = "time_flow_end_ns"
    received: str = "time_received_ns"
    flags: str = "tcp_flags"
    exporter: str = "sampler_address"
    sampling: str = "sampling_rate"


class WrongRecord(ValueError):  # noqa: N818 - what was found
    """A line is no record."""


class JsonRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The records of some lines."""

    records: FlowRecords
    exporters: list[str]
    sampling: dict[str, int]  # by exporter
    wrong: int


def parse_json_lines(lines: Iterable[bytes], table: AddressTable, names: FieldNames) -> JsonRecords:
    """Return the records of lines.

    Args:
        lines: any number; empty ones are no records and not wrong.
        table: takes the addresses.
        names: of members.
    """
    rows: list[tuple[int, ...]] = []
    exporters: dict[str, int] = {}
    sampling: dict[str, int] = {}
    wrong = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            row = _row(line, table, names, exporters, sampling)
        except WrongRecord:
            wrong += 1
            continue
        if row is not None:
            rows.append(row)
    return JsonRecords(
        records=from_rows(rows), exporters=list(exporters), sampling=sampling, wrong=wrong
    )


def _row(
    line: bytes,
    table: AddressTable,
    names: FieldNames,
    exporters: dict[str, int],
    sampling: dict[str, int],
) -> tuple[int, ...] | None:
    if len(line) > LINE_OCTETS:
        raise WrongRecord
    try:
        told = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongRecord from error
    if not _is_tcp(told, names.protocol):
        return None
    if _number(told, names.destination_port) not in SMTP_PORTS:
        return None
    exporter = _exporter(told, table, names)
    if exporter not in exporters and len(exporters) >= MOST_EXPORTERS:
        raise WrongRecord
    rate = _number(told, names.sampling, 0)
    row = (
        _address(told, table, names.source),
        _address(told, table, names.destination),
        _number(told, names.source_port, 0) & 0xFFFF,
        _number(told, names.packets),
        _number(told, names.octets),
        _time(told, names.begin),
        _time(told, names.end),
        _time(told, names.received) if names.received in told else 0,
        _number(told, names.flags, 0) & 0xFF,
        exporters.setdefault(exporter, len(exporters)),
    )
    sampling[exporter] = max(sampling.get(exporter, 1), min(rate, MOST_RATE))
    return row


def _is_tcp(told: Mapping[str, Any], name: str) -> bool:
    value = told.get(name)
    if isinstance(value, str) and not value.isdigit():  # its name
        return value.upper() == "TCP"
    return _number(told, name) == TCP


def _exporter(told: Mapping[str, Any], table: AddressTable, names: FieldNames) -> str:
    if names.exporter not in told:
        return "::"
    return table.text_of(_address(told, table, names.exporter))


def _address(told: Mapping[str, Any], table: AddressTable, name: str) -> int:
    value = told.get(name)
    if not isinstance(value, str):
        raise WrongRecord
    try:
        return table.id_of(value)
    except ValueError as error:
        raise WrongRecord from error


def _number(told: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = told.get(name, default)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise WrongRecord
    return value


def _time(told: Mapping[str, Any], name: str) -> int:
    """Return a time in milliseconds."""
    value = _number(told, name)
    if value < _SECONDS:
        return value * 1000
    return value if value < _MILLISECONDS else value // 1_000_000
