"""`oborona account list`, `show`, `forget`, and the group of all that is done to accounts."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click
import msgspec
from rich.table import Table

from oborona.accounts.account import Account, AccountState
from oborona.accounts.store.rows import AccountDeed
from oborona.cli.account.deeds import ban, limit, trust, unban, untrust
from oborona.cli.account.explain import explain
from oborona.cli.account.registrations import import_
from oborona.cli.account.store import account_object, desk_call
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.accounts import AccountCommand, forget_account
from oborona.desk.asks.accounts import (
    AccountsQuestion,
    NamedAccountQuestion,
    find_account,
    list_accounts,
    open_accounts,
    show_account,
)


@click.group()
def account() -> None:
    """Say who sends from here, and stop or trust them (docs/people/accounts.md)."""


@account.command(name="list")
@click.option(
    "--state",
    type=click.Choice([state.value for state in AccountState]),
    help="Only accounts that are in it now.",
)
@click.option("--customer", metavar="ID", help="Only accounts of a customer.")
@click.option(
    "--last",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="At most so many, in the order of their names.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON, an account a line.")
@pass_cli_context
def list_(
    context: CliContext, state: str | None, customer: str | None, last: int, as_json: bool
) -> None:
    """List accounts."""
    now = time.time()
    question = AccountsQuestion(
        state=None if state is None else AccountState(state), customer=customer, most=last
    )
    with desk_call(context):
        page = list_accounts(context, terminal_caller(), question)
    found = [one.account for one in page.accounts]
    if as_json:
        for of in found:
            echo_json(account_object(of, now))
        return
    table = Table(show_edge=False)
    for name in ("account", "state", "rating", "trusted", "customer", "logins"):
        table.add_column(name, overflow="fold")
    for of in found:
        table.add_row(
            plain(of.id),
            of.state(now).value,
            str(of.rating),
            "yes" if of.trusted(now) else "",
            plain(of.customer.id) if of.customer else "",
            plain(", ".join(of.logins[:3]) + (", …" if len(of.logins) > 3 else "")),
        )
    Terminal(soft_wrap=True).print(table)


@account.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def show(context: CliContext, name: str, as_json: bool) -> None:
    """Show all that is known of an account; NAME is its id or a login of it."""
    now = time.time()
    with desk_call(context):
        details = show_account(context, terminal_caller(), NamedAccountQuestion(name=name))
    found, deeds = details.standing.account, details.deeds
    if as_json:
        echo_json(
            account_object(found, now) | {"deeds": [msgspec.to_builtins(deed) for deed in deeds]}
        )
        return
    for line in _lines(found, deeds, now):
        echo(plain(line))


@account.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do it: nothing brings it back.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def forget(context: CliContext, name: str, yes: bool, as_json: bool) -> None:
    """Drop all that is known of an account, its registration too; NAME is its id or a login of it.

    Counts of its mail stay until their windows have passed: they hold no name.
    """
    with desk_call(context):
        if not yes:
            with open_accounts(context) as store:
                found = find_account(store, name)
            raise click.UsageError(f"this drops all that is known of {found.id}; add --yes")
        forgotten = forget_account(context, terminal_caller(), AccountCommand(name=name))
    if as_json:
        echo_json({"account": forgotten.account, "forgotten": True})
    else:
        echo(plain(f"{forgotten.account} is forgotten"))


for command in (import_, explain, trust, untrust, limit, ban, unban):
    account.add_command(command)


def _lines(found: Account, deeds: Sequence[AccountDeed], now: float) -> list[str]:
    """Return an account for people."""
    state = found.state(now)
    lines = [f"{found.id}  {state}, rating {found.rating}"]
    if found.block is not None and state is not AccountState.OPEN:
        until = f" until {shown_time(found.block.until)}" if found.block.until else ""
        lines.append(f"{state} by {found.block.by}{until}: {found.block.why}")
    if found.trust is not None and found.trusted(now):
        until = f" until {shown_time(found.trust.until)}" if found.trust.until else ""
        lines.append(f"trusted by {found.trust.by}{until}: {found.trust.why}")
    told = {
        "name": found.name,
        "since": shown_time(found.since),
        "first seen": shown_time(found.first_seen),
        "customer": " ".join(msgspec.structs.astuple(found.customer)) if found.customer else "",
        "logins": ", ".join(found.logins),
        "networks": ", ".join(f"{of.network} ({of.role})" for of in found.networks),
    }
    if found.registration is not None:
        for field, value in msgspec.structs.asdict(found.registration).items():
            told[f"registration {field}"] = shown_time(value) if field == "time" else value
    lines += [f"  {field}: {value}" for field, value in told.items() if value]
    for deed in deeds:
        until = f" until {shown_time(deed.until)}" if deed.until else ""
        lines.append(f"  {shown_time(deed.at)} {deed.what}{until} by {deed.by}: {deed.why}")
    return lines
