"""The file of accounts as commands open it, and accounts as they are shown."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final

import click
import msgspec

from oborona import state_files
from oborona.accounts.account import Account
from oborona.accounts.import_lines import WrongAccount, account_record
from oborona.accounts.store.accounts import AccountStore
from oborona.cli.context import CliContext
from oborona.cli.state_folder import open_store

NONE_OF_THAT_NAME: Final = 1  # exit status


def open_accounts(
    context: CliContext, *, make: bool = False
) -> AbstractContextManager[AccountStore]:
    """Open the store as the daemon's user.

    Args:
        context: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return open_store(context, AccountStore, state_files.ACCOUNTS, make=make)


def account_named(store: AccountStore, name: str) -> Account:
    """Return an account by its id or login; where there is none, the command ends and says so."""
    account = store.find(name)
    if account is None:
        click.echo(f"there is no account {name[:100]!r}, nor a login of one", err=True)
        click.get_current_context().exit(NONE_OF_THAT_NAME)
    return account


def account_or_new(store: AccountStore, name: str, *, by: str, now: float) -> Account:
    """Return an account by its id or login; a login that is no account yet becomes one, and that is
    said on standard error: it may be misspelt.

    Args:
        store: the file of accounts.
        name: id or login.
        by: who asks.
        now: Unix seconds.

    Raises:
        click.BadParameter: it can't be a login.
    """
    account = store.find(name)
    if account is not None:
        return account
    try:
        record = account_record(name)
    except WrongAccount as error:
        raise click.BadParameter(str(error)) from None
    store.put([record], by=by, now=now)
    click.echo(f"{record.id} was no account yet, and is one now: check how it is spelt", err=True)
    return account_named(store, record.id)


def account_object(account: Account, now: float) -> dict[str, Any]:
    """Return an account as `--json` shows it at Unix time `now`."""
    shown: dict[str, Any] = msgspec.to_builtins(account)
    return shown | {"state": account.state(now).value, "trusted": account.trusted(now)}
