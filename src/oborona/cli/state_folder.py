"""The site's state folder as commands use it: it has to be there, and its stores are opened as the
daemon's user.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from oborona.cli.context import CliContext
from oborona.desk.state_store import StateStore, open_state_store


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
    context: CliContext, store: type[StateStore], name: str, *, make: bool = False
) -> Iterator[StateStore]:
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
    with open_state_store(context, store, name, make=make) as opened:
        yield opened
