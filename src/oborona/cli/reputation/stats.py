"""`oborona reputation stats`: how many entities are remembered, and in how many octets."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import Final

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo_json
from oborona.cli.reputation.entity import KINDS
from oborona.cli.terminal import PIPED, Terminal
from oborona.counters.stats import StoreStats
from oborona.stores.counters import check_is_local, store_stats
from oborona.types import CounterPrefix

BESIDE: Final = {
    CounterPrefix.IN: "mail",
    CounterPrefix.REFUSED: "refused",
    CounterPrefix.FIRST: "first contacts",
    CounterPrefix.DELETED: "deleted",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def stats(context: CliContext, as_json: bool) -> None:
    """Show, for each kind of entity, how many the counters remember, and in how many octets: in
    all, on average with what lies beside, and the largest record.

    All records are walked over in short steps; a running daemon is not disturbed.
    """
    check_is_local(context.loaded.settings)
    report = store_stats(context.loaded.settings, context.state, time.time(), types=True)
    if not isinstance(report, StoreStats):
        raise TypeError(report)  # `check_is_local` has refused a cluster
    records: dict[tuple[int, CounterPrefix], int] = defaultdict(int)
    octets: dict[tuple[int, CounterPrefix], int] = defaultdict(int)
    largest: dict[int, int] = defaultdict(int)
    for share in report.types or ():
        records[share.type, share.prefix] += share.records
        octets[share.type, share.prefix] += share.bytes
        largest[share.type] = max(largest[share.type], share.largest)
    table = Table("kind", show_edge=False)
    for column in ("entities", "octets", "each", "largest", *list(BESIDE.values())[1:]):
        table.add_column(column, justify="right")
    for kind, type_ in KINDS.items():
        number = records[type_, CounterPrefix.IN]
        whole = sum(octets[type_, prefix] for prefix in BESIDE)
        average = whole / number if number else 0.0
        beside = {
            label: records[type_, prefix]
            for prefix, label in BESIDE.items()
            if prefix is not CounterPrefix.IN
        }
        if as_json:
            fields = {"kind": kind, "entities": number, "octets": whole, "each": average}
            echo_json(fields | {"largest": largest[type_], "records": beside})
        elif whole:
            sizes = f"{whole:,}", f"{average:.0f}", f"{largest[type_]:,}"
            row = (f"{number:,}", *sizes, *(f"{size:,}" for size in beside.values()))
            table.add_row(kind, *row)
    if not as_json:
        Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)
