"""The file of accounts as commands open it, and accounts as they are shown."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final, NoReturn

import click
import msgspec

from oborona import state_files
from oborona.accounts.account import Account
from oborona.accounts.store.accounts import AccountStore
from oborona.cli.context import CliContext
from oborona.desk.state_folder import open_store

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
        end_without_account(name)
    return account


def end_without_account(name: str) -> NoReturn:
    """End the command, since there is no account by an id or login, and say so."""
    click.echo(f"there is no account {name[:100]!r}, nor a login of one", err=True)
    click.get_current_context().exit(NONE_OF_THAT_NAME)


def account_object(account: Account, now: float) -> dict[str, Any]:
    """Return an account as `--json` shows it at Unix time `now`."""
    shown: dict[str, Any] = msgspec.to_builtins(account)
    return shown | {"state": account.state(now).value, "trusted": account.trusted(now)}
