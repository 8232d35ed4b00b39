"""`oborona reputation`: the group, and `log`."""

from __future__ import annotations

import sys

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.reputation.export import export
from oborona.cli.reputation.forgive import forgive
from oborona.cli.reputation.overrides import clear, note, set_
from oborona.cli.reputation.pin_import import import_
from oborona.cli.reputation.pin_words import change_line
from oborona.cli.reputation.show import show
from oborona.cli.reputation.top import top
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.remembered_entities import BESIDE, RememberedQuestion, count_entities
from oborona.desk.asks.reputation import MOST_CHANGES, ChangeQuestion, list_changes
from oborona.stores.pins.pin_reader import SHOWN

# `oborona reputation stats`: how many entities are remembered, and in how many octets.


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def stats(context: CliContext, as_json: bool) -> None:
    """Show, for each kind of entity, how many the counters remember, and in how many octets: in
    all, on average with what lies beside, and the largest record.

    All records are walked over in short steps; a running daemon is not disturbed.
    """
    remembered = count_entities(context, terminal_caller(), RememberedQuestion())
    table = Table("kind", show_edge=False)
    for column in ("entities", "octets", "each", "largest", *BESIDE.values()):
        table.add_column(column, justify="right")
    for kind in remembered.kinds:
        if as_json:
            echo_json(kind)
        elif kind.octets:
            sizes = f"{kind.octets:,}", f"{kind.each:.0f}", f"{kind.largest:,}"
            beside = (f"{records:,}" for records in kind.records.values())
            table.add_row(kind.kind, f"{kind.entities:,}", *sizes, *beside)
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
@click.option("--limit", type=click.IntRange(1, MOST_CHANGES), default=SHOWN, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def log(context: CliContext, entity: str | None, limit: int, as_json: bool) -> None:
    """Show who changed what by hand, and why, the latest first: overrides, notes, forgiven
    messages, imports; of ENTITY alone, where one is given.
    """
    question = ChangeQuestion(entity=entity or "", limit=limit)
    for change in list_changes(context, terminal_caller(), question).changes:
        if as_json:
            echo_json(change)
        else:
            echo(plain(change_line(change)))
