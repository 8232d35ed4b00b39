"""Persons for a tool: each read from the store when it is asked for, and nothing kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oborona.errors import StoreError
from oborona.reputation.personal import NOBODY, PersonalProfile, mail_address
from oborona.stores.persons.follower import untagged
from oborona.stores.persons.store import PersonStore


class ReadOnlyPersons:
    """A `Persons` over the store's file, which need not be there.

    Args:
        path: the store's file.
        failed: is told why the store can't be read.
    """

    def __init__(self, path: Path, failed: Callable[[StoreError], None]) -> None:
        self._path = path
        self._failed = failed

    async def of(self, address: str) -> PersonalProfile:
        """Return what is known of a person; see `Persons.of`."""
        exact = mail_address(address)
        try:
            return self._read(exact) if exact and self._path.exists() else NOBODY
        except StoreError as error:
            self._failed(error)
            return NOBODY

    def _read(self, exact: str) -> PersonalProfile:
        with PersonStore(self._path, make=False) as store:
            for name in filter(None, (exact, untagged(exact))):
                stored = store.of(name)
                profile = PersonalProfile(name, stored.strictness, stored.entries)
                if not profile.empty:
                    return profile
        return NOBODY
