"""`oborona export`: the tables for the mail server's own look-ups, written at once."""

from __future__ import annotations

import sys

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.export import ALL_ROWS, ExportedTables, TableExportOrder, write_tables


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@pass_cli_context
def export(context: CliContext, dry_run: bool) -> None:
    """Write the tables of [export] now, for a mail server's own look-ups
    (docs/mail-servers/exim.md).

    The keeper does it every export.interval_s by itself. Exit status 1 where something could not be
    asked, and is not in them.
    """
    order = TableExportOrder(dry=dry_run, most=ALL_ROWS)
    done = write_tables(context, terminal_caller(), order)
    if dry_run:
        for row in done.rows:
            echo(f"{row.sort} {row.key} {row.line}")
        echo(_count(done))
    else:
        echo(f"{done.folder}: wrote {', '.join(done.changed)}; {_count(done)}")
    for trouble in done.troubles:
        click.echo(f"oborona: {trouble}; what it would say is not in the tables", err=True)
    if done.troubles:
        sys.exit(1)


def _count(done: ExportedTables) -> str:
    return f"{done.clients} clients, {done.networks} networks, {done.senders} senders"
