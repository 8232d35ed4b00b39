"""`oborona reputation`: the group, and `log`."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.reputation.entity import entity_named
from oborona.cli.reputation.export import export
from oborona.cli.reputation.forgive import forgive
from oborona.cli.reputation.overrides import clear, note, set_
from oborona.cli.reputation.pin_import import import_
from oborona.cli.reputation.pin_store import change_line, change_object, pins_for_reading
from oborona.cli.reputation.show import show
from oborona.cli.reputation.stats import stats
from oborona.cli.reputation.top import top
from oborona.cli.terminal import plain
from oborona.message.shingles import Hasher
from oborona.stores.pins.store import SHOWN


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
