"""A worker's pins: as the store says.

The store is asked four times a second how many changes there were, in a thread: a pin is in force on all workers within half a second. When the
store can't be used, what was known stays in force, mail goes on, and the log says so, once, and once when it is over.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona.errors import StoreError
from oborona.milter.log import event
from oborona.milter.pinned.rows import Changes
from oborona.milter.pinned.store import Store
from oborona.reputation.pins import Book, Pin
from oborona.types import Shingle

LOOK_S: Final = 0.25  # between looks at the store

log = logging.getLogger("oborona.pins")


class FollowedPins:
    """The pins of a worker; a `Pins` of its scans.

    Args:
        path: the store's file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store: Store | None = None
        self._inode = 0
        self._version = -1
        self._trouble = ""
        # of the store: a look that was given up may still run when it is closed
        self._lock = threading.Lock()
        self._book = Book()

    def of(self, shingle: Shingle, now: float) -> Pin | None:
        """Return the pin of an entity that is in force at Unix time `now`; None where there is none."""
        return self._book.of(shingle, now)

    def none_of(self, shingles: Sequence[Shingle]) -> bool:
        """Tell whether none of some entities is pinned; a pin that is over may still be one."""
        return self._book.none_of(shingles)

    @property
    def stale(self) -> bool:
        """The store can't be read now: what was known stays."""
        return bool(self._trouble)

    def flags(self, now: float) -> dict[str, int]:
        """Return how many are in force at Unix time `now`, by flag."""
        return self._book.flags(now)

    async def watch(self) -> None:
        """Follow the store, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Take what has changed."""
        with self._lock:
            changes = self._changes()
            if changes is None or not (changes.pins or changes.gone or (changes.whole and len(self._book))):
                return
            if changes.whole:  # another store, or one that could not be read before
                self._book = Book(changes.pins)
            else:
                for pin in changes.pins:
                    self._book.put(pin)
                for entity in changes.gone:
                    self._book.drop(entity)
                self._book.forget(time.time())  # the store never tells of what was over before it was dropped
        event(
            log,
            logging.INFO,
            "manual overrides changed",
            version=changes.version,
            changed=len(changes.pins),
            gone=len(changes.gone),
            number=len(self._book),
        )
        if changes.unknown:
            event(
                log, logging.ERROR, "manual overrides of a newer version are not used", number=changes.unknown
            )

    def close(self) -> None:
        """Let the store go."""
        with self._lock:
            self._let_go()

    def _changes(self) -> Changes | None:
        """Return what has changed in the store since the last time; None if it can't be read. `_version` is then the new one."""
        try:
            store = self._opened()
            version = store.version() if self._version >= 0 else -1
            if version == self._version >= 0:
                return None
            if version < self._version:  # it was put back to what it was before
                self._version = -1
            changes = store.since(self._version, time.time())
        except StoreError as error:
            self._failed(error)
            return None
        self._version = changes.version
        if self._trouble:
            event(log, logging.WARNING, "manual overrides are read again")
            self._trouble = ""
        return changes

    def _opened(self) -> Store:
        """Return the store, opened anew where another file has its name."""
        try:
            inode = self._path.stat().st_ino
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error
        if self._store is not None and inode != self._inode:
            self._let_go()
        if self._store is None:
            self._store = Store(self._path, make=False)
            self._inode, self._version = inode, -1
        return self._store

    def _let_go(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _failed(self, error: StoreError) -> None:
        self._let_go()  # it is read whole when it can be read again
        if str(error) != self._trouble:
            event(log, logging.ERROR, "manual overrides stay as they were", error=error)
            self._trouble = str(error)
