"""`oborona account import`: accounts out of a file, and how they came to be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import IO, Final

import click

from oborona.accounts.import_lines import LINE_OCTETS
from oborona.accounts.registration_import import import_accounts
from oborona.cli.account.store import open_accounts
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal_person import terminal_person

TOLD: Final = 20  # wrong lines that are named


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
        if told <= TOLD:
            click.echo(f"oborona: line {number}: {text}", err=True)

    tests, by = context.policy().account_tests, terminal_person().name
    with open_accounts(context, make=True) as store:
        figures = import_accounts(store, _lines(file), tests, by=by, now=time.time(), fault=fault)
    imported, new, wrong = figures.imported, figures.new, figures.wrong
    if as_json:
        echo_json({"imported": imported, "new": new, "wrong": wrong})
    else:
        echo(f"{imported} accounts, {new} of them new; {wrong} lines left out")
    if wrong:
        click.get_current_context().exit(1)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; of a huge one, more than a line may have."""
    number = 0
    while line := file.readline(LINE_OCTETS + 1):
        number += 1
        whole = line
        while not line.endswith(b"\n") and len(line) > LINE_OCTETS:  # the rest of a huge line
            line = file.readline(LINE_OCTETS + 1)
        yield number, whole
