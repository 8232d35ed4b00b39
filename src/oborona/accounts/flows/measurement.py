"""The records of one file, with what is known of their exporters, become windows.

exporters that are not named → left out → times clamped → sampling by the settings → windows,
and a row for each exporter
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.flow_taker import ReadFile
from oborona.accounts.flows.nfdump import ExporterCounts
from oborona.accounts.flows.records import FlowRecords
from oborona.accounts.flows.store import ExporterWindow
from oborona.accounts.flows.windows import WRONG_SHARE, clamp, exporter_sums, windows

MOST = np.iinfo(np.int64).max // 2  # of packets or octets of a record, scaled


class FlowRules(msgspec.Struct, frozen=True, kw_only=True):
    """How records are understood, by the settings."""

    rotation_s: int = 60
    active_timeout_s: float = 1800.0
    believed: frozenset[str] = frozenset()  # exporters; empty: all
    rates: Mapping[str, int] = {}  # one packet in so many, by exporter


def measure(
    records: FlowRecords,
    exporters: list[str],
    counts: Mapping[str, ExporterCounts],
    rules: FlowRules,
    table: AddressTable,
    *,
    name: str,
    size: int,
    received: float,
    wrong: int,
) -> ReadFile:
    """Return what a file says.

    Args:
        records: of our sources.
        exporters: that the records name by their places.
        counts: what the collector knows of exporters; of others nothing.
        rules: of the settings.
        table: of the addresses.
        name: of the file.
        size: of the file.
        received: Unix seconds, where records do not say when they were received.
        wrong: records that could not be read.
    """
    if rules.believed:
        named = np.array([exporter in rules.believed for exporter in exporters], dtype=bool)
        records = records.only(named[records.exporter]) if len(records) else records
    records.received[records.received == 0] = int(received * 1000)
    late = clamp(records, rules.active_timeout_s)
    sums = exporter_sums(records, late, len(exporters))
    rates = []
    for number, exporter in enumerate(exporters):
        told = counts.get(exporter, ExporterCounts()).sampling
        rate = rules.rates.get(exporter, 1)
        if told == 1 and rate > 1:
            _scale(records, number, rate)
        rates.append(max(told, rate))
    start = _start(records, rules.rotation_s, received)
    found = windows(
        records,
        start,
        rules.rotation_s,
        sampled=[rate > 1 for rate in rates],
        timeless=[each.times_wrong > WRONG_SHARE * each.records for each in sums],
    )
    rows = [
        ExporterWindow(
            start=start,
            exporter=exporter,
            records=each.records,
            flows=counts.get(exporter, ExporterCounts()).flows,
            datagrams=counts.get(exporter, ExporterCounts()).datagrams,
            failures=counts.get(exporter, ExporterCounts()).failures,
            times_wrong=each.times_wrong,
            lag_s=each.lag_s,
            shared=each.shared,
            sampling=rate,
        )
        for exporter, each, rate in zip(exporters, sums, rates, strict=True)
    ]
    rows += [  # of whom there is nothing of ours; of whose flows there is no template yet
        ExporterWindow(
            start=start,
            exporter=exporter,
            records=0,
            flows=told.flows,
            datagrams=told.datagrams,
            failures=told.failures,
            times_wrong=0,
            lag_s=0.0,
            shared=0.0,
            sampling=told.sampling,
        )
        for exporter, told in counts.items()
        if exporter not in exporters
    ]
    return ReadFile(
        name=name,
        size=size,
        start=start,
        windows=found,
        table=table,
        exporters=rows,
        records=len(records),
        wrong=wrong,
    )


def _scale(records: FlowRecords, exporter: int, rate: int) -> None:
    """Multiply what a sampled exporter has seen, in place."""
    rows = records.exporter == exporter
    for amounts in (records.packets, records.octets):
        amounts[rows] = np.minimum(amounts[rows], MOST // rate) * rate


def _start(records: FlowRecords, rotation_s: int, received: float) -> int:
    """Return when the file began: by the clock of whoever received it, not by its name, which is in
    the collector's local time.
    """
    at = float(np.median(records.received)) / 1000 if len(records) else received
    return int(at // rotation_s) * rotation_s
