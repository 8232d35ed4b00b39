"""What `oborona doctor` says of pins: how many there are, and whether their store can be used."""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.cli.asked import Asked
from oborona.cli.report import Report, State
from oborona.errors import StoreError
from oborona.reputation.pins import Book
from oborona.stores.pins.follow import STALE
from oborona.stores.pins.store import Store
from oborona.telemetry import status


def pins(asked: Asked) -> Iterator[Report]:
    """Look at the store of manual overrides, and at what workers hold."""
    path, now = asked.state / state_files.PINS, time.time()
    if not path.exists():
        yield Report("overrides", State.WARN, f"{path} is not there yet")
        return
    try:
        with Store(path, make=False) as store:
            there = store.all(now)
    except StoreError as error:
        yield Report("overrides", State.FAIL, str(error))
    else:
        counted = ", ".join(
            f"{number} {flag}" for flag, number in Book(there).flags(now).items() if number
        )
        ever = sum(not pin.until for pin in there)
        words = f"{path}: {counted or 'none'} in force" + (
            f", {ever} of them without an end" if ever else ""
        )
        yield Report("overrides", State.OK, words)
    for worker in status.read(asked.state, now):
        if STALE.of(worker.metrics):
            words = (
                f"worker {worker.worker} can't use the store of manual overrides; its log says why"
            )
            yield Report("overrides", State.FAIL, words)
