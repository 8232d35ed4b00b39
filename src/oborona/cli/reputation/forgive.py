"""`oborona reputation forgive`: a verdict was wrong, and what it counted is taken back."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.reputation.overrides import dry_run, reason_needed
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.forgiveness import ForgivenessOrder, forgive_message
from oborona.desk.refusals import NothingDoneError


@click.command()
@click.argument("ident", metavar="ID")
@reason_needed
@dry_run
@pass_cli_context
def forgive(context: CliContext, ident: str, reason: str, dry_run: bool) -> None:
    """Take back that the message ID counted as spam: for its address, its sender, its links and
    everything else in it.

    ID stands in X-Mras-Id, in refusals and in the log. It happens once for each message; that the
    message came stays counted. What people said of it is theirs to take back (`oborona learn`).
    Exit status 1 where there is nothing to take back.
    """
    order = ForgivenessOrder(ident=ident, reason=reason, dry=dry_run)
    try:
        forgiven = forgive_message(context, terminal_caller(), order)
    except NothingDoneError as error:
        click.echo(str(error), err=True)
        click.get_current_context().exit(1)
    client = forgiven.client or "nobody known"
    description = f"{forgiven.ident} of {client}, {forgiven.pieces} hashes"
    if dry_run:
        echo(f"{description}: would be taken back")
        return
    first = "taken back" if forgiven.first else "somebody else has just taken it back"
    echo(f"{description}: {first}")
