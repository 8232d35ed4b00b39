"""The site's state folder as calls use it: it has to be there, and its stores are opened as the
daemon's user.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from oborona.desk.refusals import NoStateFolderError
from oborona.desk.site import Site
from oborona.sqlite_file import SharedSqliteFile

Store = TypeVar("Store", bound=SharedSqliteFile)


def require_state(site: Site) -> None:
    """Refuse to go on where there is no state folder.

    Raises:
        NoStateFolderError: there is none.
    """
    if not site.state.is_dir():
        raise NoStateFolderError(
            f"{site.state}: there is no state folder; has Oborona run with these settings?"
        )


@contextmanager
def open_store(site: Site, store: type[Store], name: str, *, make: bool = False) -> Iterator[Store]:
    """Open a store as the daemon's user.

    Args:
        site: whose state folder it lies in.
        store: which.
        name: of its file.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    require_state(site)
    with site.as_owner(), store(site.state / name, make=make) as opened:
        yield opened
