"""`oborona reputation`: the group, and `log`."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import Final

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.reputation.entity import KINDS, entity_named
from oborona.cli.reputation.export import export
from oborona.cli.reputation.forgive import forgive
from oborona.cli.reputation.history import PREFIXES
from oborona.cli.reputation.overrides import clear, note, set_
from oborona.cli.reputation.pin_import import import_
from oborona.cli.reputation.pin_store import change_line, change_object, pins_for_reading
from oborona.cli.reputation.show import show
from oborona.cli.reputation.top import top
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.counters.stats import StoreStats
from oborona.message.shingles import Hasher, ShingleType
from oborona.stores.counters import check_is_local, store_stats
from oborona.stores.pins.store import SHOWN
from oborona.types import CounterPrefix

# `oborona reputation stats`: how many entities are remembered, and in how many octets.

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
        out = type_ == ShingleType.ACCOUNT
        number = records[type_, CounterPrefix.OUT if out else CounterPrefix.IN]
        whole = sum(octets[type_, prefix] for prefix in PREFIXES)
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


@click.group()
def reputation() -> None:
    """Show the reputation of addresses, senders, domains and other entities, and override it by
    hand.
    """


for command in (show, top, set_, clear, note, forgive, export, import_, stats):
    reputation.add_command(command)


@reputation.command()
@click.argument("entity", required=False)
@click.option("--limit", type=click.IntRange(1, 100_000), default=SHOWN, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def log(context: CliContext, entity: str | None, limit: int, as_json: bool) -> None:
    """Show who changed what by hand, and why, the latest first: overrides, notes, forgiven
    messages, imports; of ENTITY alone, where one is given.
    """
    selection = (
        None if entity is None else entity_named(entity, Hasher(context.keys().shingles)).shingle
    )
    with pins_for_reading(context) as store:
        changes = [] if store is None else store.changes(selection, limit)
    for change in changes:
        if as_json:
            echo_json(change_object(change))
        else:
            echo(plain(change_line(change)))
