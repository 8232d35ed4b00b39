"""The site's state folder as commands use it: it has to be there, and its stores are opened as the
daemon's user.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

from oborona.cli.context import CliContext
from oborona.cli.owner import as_owner_of
from oborona.sqlite_file import SharedSqliteFile

Store = TypeVar("Store", bound=SharedSqliteFile)


def require_state(context: CliContext) -> None:
    """End the command where there is no state folder.

    Raises:
        click.UsageError: there is none.
    """
    if not context.state.is_dir():
        raise click.UsageError(
            f"{context.state}: there is no state folder; has Oborona run with these settings?"
        )


@contextmanager
def open_store(
    context: CliContext, store: type[Store], name: str, *, make: bool = False
) -> Iterator[Store]:
    """Open a store as the daemon's user.

    Args:
        context: whose state folder it lies in.
        store: which.
        name: of its file.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    require_state(context)
    with as_owner_of(context.state), store(context.state / name, make=make) as opened:
        yield opened
