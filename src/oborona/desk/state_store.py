"""Stores of a site's state folder as asks and acts open them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.sqlite_file import SharedSqliteFile

StateStore = TypeVar("StateStore", bound=SharedSqliteFile)


@contextmanager
def open_state_store(
    site: Site, store: type[StateStore], name: str, *, make: bool = False
) -> Iterator[StateStore]:
    """Open a store as the daemon's user.

    Args:
        site: whose state folder it lies in.
        store: which.
        name: of its file.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    if not site.state.is_dir():
        raise StoreError(f"{site.state}: there is no state folder")
    with site.as_owner(), store(site.state / name, make=make) as opened:
        yield opened
