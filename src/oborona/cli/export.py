"""`oborona export`: the tables for the mail server's own look-ups, written at once."""

from __future__ import annotations

import sys
import time

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.daemon.exporter.exporter import TableExporter
from oborona.daemon.exporter.files import ExportFiles, ExportTables
from oborona.desk.owner import as_owner_of


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@pass_cli_context
def export(context: CliContext, dry_run: bool) -> None:
    """Write the tables of [export] now, for a mail server's own look-ups
    (docs/mail-servers/exim.md).

    The keeper does it every export.interval_s by itself. Exit status 1 where something could not be
    asked, and is not in them.
    """
    settings = context.loaded.settings
    if not dry_run and not settings.export.folder:
        raise click.UsageError("export.folder is not set: there is nowhere to write")
    with as_owner_of(context.state):
        tables = TableExporter(settings, context.state).round(time.time())
        if dry_run:
            _show(tables.tables)
        else:
            changed = ExportFiles(settings.export).write(tables.tables)
            echo(f"{settings.export.folder}: wrote {', '.join(changed)}; {_count(tables.tables)}")
    for trouble in tables.troubles:
        click.echo(f"oborona: {trouble}; what it would say is not in the tables", err=True)
    if tables.troubles:
        sys.exit(1)


def _show(tables: ExportTables) -> None:
    for sort, rows in (
        ("client", tables.clients.items()),
        ("network", ((str(network), row) for network, row in tables.networks)),
        ("sender", tables.senders.items()),
    ):
        for key, row in rows:
            echo(f"{sort} {key} {row.line}")
    echo(_count(tables))


def _count(tables: ExportTables) -> str:
    return (
        f"{len(tables.clients)} clients, {len(tables.networks)} networks, {len(tables.senders)} "
        f"senders"
    )
