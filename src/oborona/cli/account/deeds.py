"""`oborona account trust`, `untrust`, `limit`, `ban`, `unban`: what a person says of an account."""

from __future__ import annotations

import time

import click

from oborona.accounts.account import AccountBlock, AccountState, Trust
from oborona.accounts.import_lines import LAST_TIME
from oborona.accounts.store.accounts import MAX_REASON
from oborona.cli.account.store import (
    account_named,
    account_object,
    account_or_new,
    open_accounts,
)
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam, shown_time
from oborona.cli.invoking_user import invoking_user
from oborona.cli.outgoing.banned_mail import settle_after
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain


def one_line(_ctx: click.Context, _param: click.Parameter, text: str) -> str:
    """Return a text that the file of accounts can hold; a callback of options.

    Raises:
        click.BadParameter: it can't.
    """
    if not text.strip() or not text.isprintable() or len(text) > MAX_REASON:
        raise click.BadParameter(f"one line of printable text, of at most {MAX_REASON} characters")
    return text.strip()


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
    now, by = time.time(), invoking_user()
    word = Trust(by=by, at=now, until=_end(span, now), why=reason)
    with open_accounts(context) as store:
        store.trust(account_named(store, name).id, word)
    _say(context, name, "is trusted", word.until, as_json=as_json)


@click.command()
@click.argument("name")
@_noted
@_json
@pass_cli_context
def untrust(context: CliContext, name: str, reason: str, as_json: bool) -> None:
    """Trust an account no more. NAME is its id or a login of it."""
    now = time.time()
    with open_accounts(context) as store:
        found = account_named(store, name)
        if not found.trusted(now):
            click.echo(f"nobody trusts {plain(found.id)}", err=True)
            click.get_current_context().exit(1)
        store.untrust(found.id, by=invoking_user(), why=reason, now=now)
    _say(context, name, "is trusted no more", 0.0, as_json=as_json)


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
    _block(context, name, AccountState.LIMITED, reason, span, as_json=as_json)


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
    _block(context, name, AccountState.BANNED, reason, span, as_json=as_json)


@click.command()
@click.argument("name")
@_noted
@_json
@pass_cli_context
def unban(context: CliContext, name: str, reason: str, as_json: bool) -> None:
    """Take mail of an account again that is banned or limited, and let go what was held of it.

    NAME is its id or a login of it.
    """
    with open_accounts(context) as store:
        found = account_named(store, name)
        if store.unblock(found.id, by=invoking_user(), why=reason, now=time.time()) is None:
            click.echo(f"{plain(found.id)} is open", err=True)
            click.get_current_context().exit(1)
    _say(context, name, "is open", 0.0, as_json=as_json)
    settle_after(context)


def _block(
    context: CliContext,
    name: str,
    state: AccountState,
    reason: str,
    span: float | None,
    *,
    as_json: bool,
) -> None:
    now, until, by = time.time(), _end(span, time.time()), invoking_user()
    with open_accounts(context, make=True) as store:
        account = account_or_new(store, name, by=by, now=now)
        block = AccountBlock(account=account.id, state=state, until=until, why=reason, by=by)
        store.block(block, now=now)
    _say(context, name, f"is {state}", block.until, as_json=as_json)
    settle_after(context)


def _end(span: float | None, now: float) -> float:
    """Return when something ends, Unix seconds; 0 = it does not."""
    if span is None:
        return 0.0
    if not 0 < span < LAST_TIME - now:
        raise click.BadParameter("must end in the time to come, before the year 10000")
    return now + span


def _say(context: CliContext, name: str, what: str, until: float, *, as_json: bool) -> None:
    with open_accounts(context) as store:
        found = account_named(store, name)
    if as_json:
        echo_json(account_object(found, time.time()))
        return
    echo(plain(f"{found.id} {what}{f' until {shown_time(until)}' if until else ''}"))
