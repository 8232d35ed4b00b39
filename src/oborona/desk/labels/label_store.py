"""The label store as asks and acts open it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oborona import state_files
from oborona.desk.site import Site
from oborona.feedback.label_store import LabelStore


@contextmanager
def open_labels(site: Site, *, make: bool = False) -> Iterator[LabelStore]:
    """Open the store as the daemon's user.

    Args:
        site: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    with site.as_owner(), LabelStore(site.state / state_files.FEEDBACK, make=make) as opened:
        yield opened
