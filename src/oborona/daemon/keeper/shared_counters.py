"""The counters, as several tasks of one process read them: LMDB opens a store once in a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oborona.config import Settings
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.readonly import ReadOnlyCounters
from oborona.stores.counters import open_readonly


class SharedCounters:
    """The store while anybody uses it; for one event loop.

    Args:
        settings: of the site.
        state: state folder.
    """

    def __init__(self, settings: Settings, state: Path) -> None:
        self._settings = settings
        self._state = state
        self._open: ReadOnlyCounters | ClusterReader | None = None
        self._users = 0

    def acquire(self) -> ReadOnlyCounters | ClusterReader:
        """Return the store, opened where nobody uses it; each is to be followed by a release.

        Raises:
            ConfigError: the settings of the cluster do not suffice.
            StoreError: there is no store, or it can't be read.
        """
        if self._open is None:
            self._open = open_readonly(self._settings, self._state)
        self._users += 1
        return self._open

    def release(self) -> None:
        """Use it no more; who is last closes it."""
        self._users -= 1
        if not self._users and self._open is not None:
            self._open.close()
            self._open = None

    @contextmanager
    def using(self) -> Iterator[ReadOnlyCounters | ClusterReader]:
        """Give the store for a while.

        Raises:
            ConfigError, StoreError: as of `acquire`.
        """
        counters = self.acquire()
        try:
            yield counters
        finally:
            self.release()
