"""A worker's pins: as the store says; see `oborona.stores.followed_store`."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona.doorbell import Doorbell
from oborona.metrics import Gauge
from oborona.reputation.pins import Pin, PinTable
from oborona.stores.followed_store import StoreFollower
from oborona.stores.pins.rows import PinStoreChanges
from oborona.stores.pins.store import PinStore
from oborona.telemetry.log import event
from oborona.types import Shingle

PINS: Final = Gauge(
    "oborona_pins",
    "Manual overrides of reputation (`oborona reputation set`) that are in force, by flag.",
    ("flag",),
)
STALE: Final = Gauge(
    "oborona_pins_stale",
    "1 while the store of manual overrides can't be used and what was known stays.",
    (),
)

log = logging.getLogger("oborona.pins")


class FollowedPins:
    """The pins of a worker; a `Pins` of its scans.

    Args:
        path: the store's file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store: StoreFollower[PinStore, PinStoreChanges] = StoreFollower(
            path,
            PinStore,
            PinStore.since,
            log=log,
            failing="manual overrides stay as they were",
            well="manual overrides are read again",
        )
        self._taking = threading.Lock()  # a look that was given up may still run at the next
        self._book = PinTable()
        PINS.set_function(
            lambda: {(flag,): number for flag, number in self._book.flags(time.time()).items()}
        )
        STALE.set_function(lambda: {(): self.stale})

    def of(self, shingle: Shingle, now: float) -> Pin | None:
        """Return the pin of an entity that is in force at Unix time `now`.

        None where there is none.
        """
        return self._book.of(shingle, now)

    def none_of(self, shingles: Sequence[Shingle]) -> bool:
        """Tell whether none of some entities is pinned; a pin that is over may still be one."""
        return self._book.none_of(shingles)

    @property
    def stale(self) -> bool:
        """The store can't be read now: what was known stays."""
        return self._store.stale

    async def watch(self) -> None:
        """Follow the store, for ever."""
        with Doorbell(self._path, sqlite=True, anyway=lambda: self.stale) as bell:
            while True:
                await bell.rung()
                await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Take what has changed."""
        with self._taking:
            changes = self._store.changes()
            if changes is None or not (
                changes.pins or changes.gone or (changes.whole and len(self._book))
            ):
                return
            if changes.whole:  # another store, or one that could not be read before
                self._book = PinTable(changes.pins)
            else:
                for pin in changes.pins:
                    self._book.put(pin)
                for entity in changes.gone:
                    self._book.drop(entity)
                # the store never tells of what was over before it was dropped
                self._book.forget(time.time())
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
                log,
                logging.ERROR,
                "manual overrides of a newer version are not used",
                number=changes.unknown,
            )

    def close(self) -> None:
        """Let the store go."""
        self._store.close()
