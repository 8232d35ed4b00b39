"""The site as commands on people have it: as the daemon's user, with a state folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oborona.cli.context import CliContext
from oborona.desk.owner import as_owner_of
from oborona.desk.state_folder import require_state


@contextmanager
def people_site(context: CliContext) -> Iterator[CliContext]:
    """Yield the site, as the daemon's user within.

    Raises:
        click.UsageError: there is no state folder.
    """
    require_state(context)
    with as_owner_of(context.state):
        yield context
