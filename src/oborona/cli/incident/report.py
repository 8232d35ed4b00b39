"""`oborona incident report`: excesses that other programs have found."""

from __future__ import annotations

from typing import IO

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.desk.acts.incident_report import take_excesses


@click.command()
@click.argument("file", type=click.File("rb"))
@pass_cli_context
def report(context: CliContext, file: IO[bytes]) -> None:
    """Report excesses of FILE (- is standard input), a JSON object a line, to the inspector.

    For what other programs have found: a panel, a firewall, a mail server of another kind
    (docs/people/incidents.md). A line that is wrong is named and left out. Exit status 1 then.
    """
    wrong = 0

    def fault(number: int, why: str) -> None:
        nonlocal wrong
        wrong += 1
        click.echo(f"oborona: line {number}: {why}", err=True)

    taken = take_excesses(context, file, fault)
    echo(f"{taken} excesses reported; {wrong} lines left out")
    if wrong:
        click.get_current_context().exit(1)
