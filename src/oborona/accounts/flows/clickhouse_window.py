"""One window of flows, asked of ClickHouse: what each exporter told, and the sums of each source.

    exporters → rates, and whose times can't be believed → (several: what they share) → sources

Sources are asked with what the exporters' answer says.  Records may come in between, and none may
go: fewer streams than records is half an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.clickhouse_rows import (
    ExporterRow,
    SharedRow,
    SourceColumns,
    decode_row,
)
from oborona.accounts.flows.clickhouse_sql import ClickHouseQuery, WindowQueries
from oborona.accounts.flows.flow_taker import ReadFile
from oborona.accounts.flows.measurement import FlowRules
from oborona.accounts.flows.nfdump import FileDamaged
from oborona.accounts.flows.store import ExporterWindow
from oborona.accounts.flows.windows import WRONG_SHARE

AskClickHouse = Callable[[ClickHouseQuery, Callable[[bytes], None]], None]
"""Has a query answered, and gives each line of the answer to a function.

Raises `FileDamaged` where the answer is none, another `OboronaError` where it can't be asked now.
"""
_EXPORTER: Final = msgspec.json.Decoder(ExporterRow)
_SHARED: Final = msgspec.json.Decoder(SharedRow)


def read_window(
    ask: AskClickHouse,
    records: str,
    rules: FlowRules,
    table: AddressTable,
    own: OwnSources,
    *,
    name: str,
    start: int,
) -> ReadFile:
    """Return what a window says.

    Args:
        ask: has queries answered.
        records: the admin's SELECT.
        rules: how records are understood.
        table: takes the addresses.
        own: which sources are ours.
        name: of the window.
        start: of the window, Unix seconds.

    Raises:
        FileDamaged: an answer can't be so.
        OboronaError: as `ask` does.
    """
    queries = WindowQueries(records, start, rules, own)
    told: list[ExporterRow] = []
    ask(queries.exporters(), lambda line: told.append(decode_row(_EXPORTER, line)))
    number, wrong = sum(row.records for row in told), sum(row.wrong for row in told)
    if wrong and not number:
        raise FileDamaged(f"none of its {wrong} records can be read")
    exporters = _by_name(told, table)
    rates = {
        exporter: rate
        for exporter, row in exporters.items()
        if (rate := rules.rates.get(exporter, row.sampling)) > 1
    }
    columns = SourceColumns(table, own)
    if exporters:
        timeless = [
            exporter
            for exporter, row in exporters.items()
            if row.times_wrong > WRONG_SHARE * row.records
        ]
        ask(queries.sources(rates, timeless), columns.add)
    if columns.streams < number:
        raise FileDamaged(f"sums of {columns.streams} streams in place of {number}")
    window = columns.window(start)
    return ReadFile(
        name=name,
        size=0,
        start=start,
        windows=[window] if len(window.source) else [],
        table=table,
        exporters=_exporter_windows(
            exporters, rates, _shares(ask, queries, exporters, table), start
        ),
        records=int(window.streams.sum()),
        wrong=wrong,
    )


def _by_name(rows: Sequence[ExporterRow], table: AddressTable) -> dict[str, ExporterRow]:
    """Return the rows of exporters that told of our sources, by their addresses."""
    found = {_text(row.exporter, table): row for row in rows if row.records}
    if len(found) != sum(row.records > 0 for row in rows):
        raise FileDamaged("an exporter comes twice")
    return found


def _text(bits: int, table: AddressTable) -> str:
    try:
        return table.text_of(table.id_of_bits(bits))
    except ValueError as error:
        raise FileDamaged(str(error)) from error


def _shares(
    ask: AskClickHouse,
    queries: WindowQueries,
    exporters: Mapping[str, ExporterRow],
    table: AddressTable,
) -> dict[str, float]:
    """Return the share of each exporter's streams that others told of, too."""
    rows: list[SharedRow] = []
    if len(exporters) > 1:  # one alone shares nothing, which costs nothing to find out
        ask(queries.shared(), lambda line: rows.append(decode_row(_SHARED, line)))
    return {_text(row.exporter, table): row.share for row in rows}


def _exporter_windows(
    exporters: Mapping[str, ExporterRow],
    rates: Mapping[str, int],
    shares: Mapping[str, float],
    start: int,
) -> list[ExporterWindow]:
    return [
        ExporterWindow(
            start=start,
            exporter=name,
            records=row.records,
            flows=0,  # of a collector that tells of them
            datagrams=0,
            failures=0,
            times_wrong=row.times_wrong,
            lag_s=max(0.0, row.lag_s or 0.0),
            shared=shares.get(name, 0.0),
            sampling=rates.get(name, 1),
        )
        for name, row in exporters.items()
    ]
