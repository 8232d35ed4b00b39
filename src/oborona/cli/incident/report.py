"""`oborona incident report`: excesses that other programs have found."""

from __future__ import annotations

import time
from typing import IO

import click

from oborona.accounts.excess import LINE_OCTETS, WrongExcess, parse_excess
from oborona.accounts.inspector.inspector import Inspector, inspector_rules
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.incident.store import open_incidents
from oborona.cli.output import echo


@click.command()
@click.argument("file", type=click.File("rb"))
@pass_cli_context
def report(context: CliContext, file: IO[bytes]) -> None:
    """Report excesses of FILE (- is standard input), a JSON object a line, to the inspector.

    For what other programs have found: a panel, a firewall, a mail server of another kind
    (docs/people/incidents.md). A line that is wrong is named and left out. Exit status 1 then.
    """
    policy = context.policy()
    taken = wrong = 0
    with open_incidents(context, make=True) as store:
        settings = context.loaded.settings.inspector
        inspector = Inspector(
            store,
            lambda: policy.account_tests,
            inspector_rules(settings),
            live=settings.mode == "live",
            clock=time.time,
        )
        number = 0
        while line := file.readline(LINE_OCTETS + 1):
            number += 1
            if not line.strip():
                continue
            try:
                inspector.take(parse_excess(line))
                taken += 1
            except WrongExcess as error:
                wrong += 1
                click.echo(f"oborona: line {number}: {error}", err=True)
    echo(f"{taken} excesses reported; {wrong} lines left out")
    if wrong:
        click.get_current_context().exit(1)
