"""`oborona account import`: accounts out of a file, and how they came to be."""

from __future__ import annotations

from typing import IO

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.account_import import MOST_FAULTS, take_accounts


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def import_(context: CliContext, file: IO[bytes], as_json: bool) -> None:
    """Import accounts from FILE (- is standard input), a JSON object a line
    (docs/people/accounts.md).

    What is told of an account replaces what was known of it; its state and the trust in it stay.
    A line that is wrong is named and left out, the others are imported. Exit status 1 then.
    """
    told = 0

    def fault(number: int, text: str) -> None:
        nonlocal told
        told += 1
        if told <= MOST_FAULTS:
            click.echo(f"oborona: line {number}: {text}", err=True)

    figures = take_accounts(context, terminal_caller(), file, fault)
    imported, new, wrong = figures.imported, figures.new, figures.wrong
    if as_json:
        echo_json({"imported": imported, "new": new, "wrong": wrong})
    else:
        echo(f"{imported} accounts, {new} of them new; {wrong} lines left out")
    if wrong:
        click.get_current_context().exit(1)
