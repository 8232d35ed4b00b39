"""The store of pins, and the spool of counters beside it, opened for a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from oborona import secret, state_files
from oborona.counters.write_only import WriteOnlyCounters
from oborona.desk.owner import as_owner_of
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store, require_state
from oborona.errors import StoreAbsent
from oborona.message.shingles import Hasher
from oborona.stores.counters import open_spooled
from oborona.stores.pins.store import PinStore


@contextmanager
def pins_for_writing(site: Site) -> Iterator[PinStore]:
    """The store of the site, to be changed as the daemon's user; begun where there is none.

    Raises:
        StoreError: it can't be used.
    """
    with open_store(site, PinStore, state_files.PINS, make=True) as store:
        yield store


@contextmanager
def pins_for_reading(site: Site) -> Iterator[PinStore | None]:
    """The store of the site, to be looked at; None where there is none yet.

    Raises:
        StoreError: it can't be used.
    """
    require_state(site)
    if not (site.state / state_files.PINS).exists():
        yield None
        return
    with open_store(site, PinStore, state_files.PINS) as store:
        yield store


def require_hasher(site: Site) -> Hasher:
    """Return what makes the site's hashes, for what is to be written: without its secret they would
    be nobody's.

    Raises:
        StoreError: there is no secret, or it can't be read.
    """
    require_state(site)
    return Hasher(secret.load(site.state).shingles)


@contextmanager
def spool(site: Site) -> Iterator[WriteOnlyCounters]:
    """Counters to take something back from, or to forget something in: all of it is handed over
    when they are closed.

    Raises:
        StoreError: nobody counts here, or the spool can't be used.
    """
    folder = site.state / state_files.COUNTERS
    if not folder.is_dir():
        raise StoreAbsent(
            f"no spools in {folder}; has the writer (counters) run?", state_files.COUNTERS
        )
    with (
        as_owner_of(folder),
        closing(open_spooled(site.loaded.settings, site.state, "cli")) as counters,
    ):
        yield counters
