"""`oborona account trust`, `untrust`, `limit`, `ban`, `unban`: what a person says of an account."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from oborona.accounts.account_orders import WrongOrder, order_end, order_reason
from oborona.cli.account.store import account_object, desk_call
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam, shown_time
from oborona.cli.outgoing.banned_mail import settle_after
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.accounts import (
    AccountCommand,
    AccountOutcome,
    LimitedAccountCommand,
    WrongAccountOrderError,
    ban_account,
    limit_account,
    trust_account,
    unban_account,
    untrust_account,
)


def one_line(_ctx: click.Context, _param: click.Parameter, text: str) -> str:
    """Return a text that the file of accounts can hold; a callback of options.

    Raises:
        click.BadParameter: it can't.
    """
    try:
        return order_reason(text)
    except WrongOrder as error:
        raise click.BadParameter(str(error)) from None


_json = click.option("--json", "as_json", is_flag=True, help="The account, as one JSON object.")
_noted = click.option(
    "--reason", required=True, callback=one_line, help="Why: it is kept with your name."
)
_told = click.option(
    "--reason",
    required=True,
    callback=one_line,
    help="Why: it is kept with your name, and the sender is told. ASCII, or it is not told.",
)


@click.command()
@click.argument("name")
@_noted
@click.option("--for", "span", type=DurationParam(), help="Such as 90d; default: for ever.")
@_json
@pass_cli_context
def trust(context: CliContext, name: str, reason: str, span: float | None, as_json: bool) -> None:
    """Trust an account: excesses of it are told, and it is never limited or banned for them.

    Do it once you have talked to the person. NAME is its id or a login of it.
    """
    order = _limited(name, reason, span)
    with _deed(context):
        outcome = trust_account(context, terminal_caller(), order)
    _say(outcome, "is trusted", as_json=as_json)


@click.command()
@click.argument("name")
@_noted
@_json
@pass_cli_context
def untrust(context: CliContext, name: str, reason: str, as_json: bool) -> None:
    """Trust an account no more. NAME is its id or a login of it."""
    order = AccountCommand(name=name, reason=reason)
    with _deed(context):
        outcome = untrust_account(context, terminal_caller(), order)
    _say(outcome, "is trusted no more", as_json=as_json)


@click.command()
@click.argument("name")
@_told
@click.option("--for", "span", type=DurationParam(), required=True, help="How long, such as 2h.")
@_json
@pass_cli_context
def limit(context: CliContext, name: str, reason: str, span: float, as_json: bool) -> None:
    """Put off all mail of an account for a time: 451 at MAIL FROM, with when it is over.

    Mail that programs of this machine hand in is not put off. NAME is its id or a login of it; a
    login that is no account yet becomes one.
    """
    order = _limited(name, reason, span)
    with _deed(context):
        outcome = limit_account(context, terminal_caller(), order)
    _say(outcome, "is limited", as_json=as_json)
    settle_after(context)


@click.command()
@click.argument("name")
@_told
@click.option(
    "--for", "span", type=DurationParam(), help="How long, such as 7d; default: until `unban`."
)
@_json
@pass_cli_context
def ban(context: CliContext, name: str, reason: str, span: float | None, as_json: bool) -> None:
    """Refuse all mail of an account: 550 at MAIL FROM, with the reason.

    It is in force within a second, and what it has in the mail server's queue is held. NAME is its
    id or a login of it; a login that is no account yet becomes one.
    """
    order = _limited(name, reason, span)
    with _deed(context):
        outcome = ban_account(context, terminal_caller(), order)
    _say(outcome, "is banned", as_json=as_json)
    settle_after(context)


@click.command()
@click.argument("name")
@_noted
@_json
@pass_cli_context
def unban(context: CliContext, name: str, reason: str, as_json: bool) -> None:
    """Take mail of an account again that is banned or limited, and let go what was held of it.

    NAME is its id or a login of it.
    """
    order = AccountCommand(name=name, reason=reason)
    with _deed(context):
        outcome = unban_account(context, terminal_caller(), order)
    _say(outcome, "is open", as_json=as_json)
    settle_after(context)


def _limited(name: str, reason: str, span: float | None) -> LimitedAccountCommand:
    """Return what is said of an account until a time.

    Raises:
        click.BadParameter: it is over, or never comes.
    """
    now = time.time()
    try:
        until = 0.0 if span is None else order_end(now + span, now)
    except WrongOrder as error:
        raise click.BadParameter(str(error)) from None
    return LimitedAccountCommand(name=name, reason=reason, until=until)


@contextmanager
def _deed(context: CliContext) -> Iterator[None]:
    """End the command where there is no such account.

    Raises:
        click.BadParameter: what is said can't be kept, or can't be said of any.
    """
    try:
        with desk_call(context):
            yield
    except WrongAccountOrderError as error:
        raise click.BadParameter(str(error)) from None


def _say(outcome: AccountOutcome, said: str, *, as_json: bool) -> None:
    """Say what was done; where there was nothing to do the command ends with status 1."""
    assert outcome.standing is not None, "it was no dry run"
    found = outcome.standing.account
    if outcome.new:
        click.echo(
            f"{found.id} was no account yet, and is one now: check how it is spelt", err=True
        )
    if not outcome.done:
        told = f"{found.id} is open" if said == "is open" else f"nobody trusts {found.id}"
        click.echo(plain(told), err=True)
        click.get_current_context().exit(1)
    if as_json:
        echo_json(account_object(found, time.time()))
        return
    until = f" until {shown_time(outcome.until)}" if outcome.until else ""
    echo(plain(f"{found.id} {said}{until}"))
