"""`oborona desk-certificate`: by what desks of other machines know this one."""

from __future__ import annotations

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo


@click.command("desk-certificate")
@pass_cli_context
def desk_certificate(context: CliContext) -> None:
    """Show the certificate by which desks of other machines know this one's; the first time, it is
    made (docs/operate/several-machines.md).
    """
    from oborona.desk.peers.identity import own_identity  # noqa: PLC0415

    with context.as_owner():
        identity = own_identity(context.state, context.name)
    echo(identity.certificate.decode("ascii").rstrip())
