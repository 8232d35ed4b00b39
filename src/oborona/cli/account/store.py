"""The file of accounts as commands open it, and accounts as they are shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
import msgspec

from oborona import state_files
from oborona.accounts.account import Account
from oborona.accounts.store.accounts import AccountStore
from oborona.cli.context import CliContext
from oborona.cli.owner import as_owner_of

NONE_OF_THAT_NAME: Final = 1  # exit status


@contextmanager
def open_accounts(context: CliContext, *, make: bool = False) -> Iterator[AccountStore]:
    """Open the store as the daemon's user.

    Args:
        context: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    if not context.state.is_dir():
        raise click.UsageError(
            f"{context.state}: there is no state folder; has Oborona run with these settings?"
        )
    with (
        as_owner_of(context.state),
        AccountStore(context.state / state_files.ACCOUNTS, make=make) as opened,
    ):
        yield opened


def account_named(store: AccountStore, name: str) -> Account:
    """Return an account by its id or login; where there is none, the command ends and says so."""
    account = store.find(name)
    if account is None:
        click.echo(f"there is no account {name[:100]!r}, nor a login of one", err=True)
        click.get_current_context().exit(NONE_OF_THAT_NAME)
    return account


def account_object(account: Account, now: float) -> dict[str, Any]:
    """Return an account as `--json` shows it at Unix time `now`."""
    shown: dict[str, Any] = msgspec.to_builtins(account)
    return shown | {"state": account.state(now).value, "trusted": account.trusted(now)}


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine; empty for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else ""
