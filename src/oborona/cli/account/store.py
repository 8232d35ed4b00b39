"""Accounts as commands open and show them, and end without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import click
import msgspec

from oborona.accounts.account import Account
from oborona.accounts.store.accounts import AccountStore
from oborona.cli.context import CliContext
from oborona.desk.asks import accounts as asks
from oborona.desk.call import NotFoundError
from oborona.desk.state_folder import require_state

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
    require_state(context)
    return asks.open_accounts(context, make=make)


@contextmanager
def desk_call(context: CliContext) -> Iterator[None]:
    """End the command, and say so, where a call within finds nothing by the name that it is given.

    Raises:
        click.UsageError: there is no state folder.
    """
    require_state(context)
    try:
        yield
    except NotFoundError as error:
        click.echo(str(error), err=True)
        click.get_current_context().exit(NONE_OF_THAT_NAME)


def account_object(account: Account, now: float) -> dict[str, Any]:
    """Return an account as `--json` shows it at Unix time `now`."""
    shown: dict[str, Any] = msgspec.to_builtins(account)
    return shown | {"state": account.state(now).value, "trusted": account.trusted(now)}
