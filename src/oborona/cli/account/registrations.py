"""`oborona account import`: accounts out of a file, and how they came to be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import IO, Final

import click

from oborona.accounts.account import AccountRecord
from oborona.accounts.import_lines import LINE_OCTETS, WrongAccount, parse_account_line
from oborona.accounts.store.ratings import rate_account
from oborona.cli.account.store import open_accounts
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.invoking_user import invoking_user
from oborona.cli.output import echo, echo_json
from oborona.errors import StoreError

BATCH: Final = 500  # accounts in one transaction: others wait for milliseconds
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
    now, by = time.time(), invoking_user()
    imported = new = wrong = 0

    def fault(number: int, text: str) -> None:
        nonlocal wrong
        wrong += 1
        if wrong <= TOLD:
            click.echo(f"oborona: line {number}: {text}", err=True)

    tests = context.policy().account_tests
    with open_accounts(context, make=True) as store:
        records = _records(file, fault)
        while batch := list(islice(records, BATCH)):
            put = [record for _, record in batch]
            try:
                new += store.put(put, by=by, now=now)
            except StoreError:  # one of them is wrong: which?
                put.clear()
                for number, record in batch:
                    try:
                        new += store.put([record], by=by, now=now)
                        put.append(record)
                    except StoreError as error:
                        fault(number, str(error))
            imported += len(put)
            for record in put:
                account = store.find(record.id)
                if account is not None:
                    rate_account(store, account, tests, now)
    if as_json:
        echo_json({"imported": imported, "new": new, "wrong": wrong})
    else:
        echo(f"{imported} accounts, {new} of them new; {wrong} lines left out")
    if wrong:
        click.get_current_context().exit(1)


def _records(
    file: IO[bytes], fault: Callable[[int, str], None]
) -> Iterator[tuple[int, AccountRecord]]:
    """Yield the accounts of a file, with the numbers of their lines."""
    number = 0
    while line := file.readline(LINE_OCTETS + 1):
        number += 1
        whole = line
        while not line.endswith(b"\n") and len(line) > LINE_OCTETS:  # the rest of a huge line
            line = file.readline(LINE_OCTETS + 1)
        if whole.strip():
            try:
                yield number, parse_account_line(whole)
            except WrongAccount as error:
                fault(number, str(error))
