"""What `oborona doctor` says of pins: how many there are, and whether their store can be used."""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.reputation.pins import PinTable
from oborona.stores.pins.follower import STALE
from oborona.stores.pins.store import PinStore
from oborona.telemetry import status


def pins(context: Site) -> Iterator[CheckReport]:
    """Look at the store of manual overrides, and at what workers hold."""
    path, now = context.state / state_files.PINS, time.time()
    if not path.exists():
        yield CheckReport("overrides", CheckState.WARN, f"{path} is not there yet")
        return
    try:
        with PinStore(path, make=False) as store:
            in_force = store.all(now)
    except StoreError as error:
        yield CheckReport("overrides", CheckState.FAIL, str(error))
    else:
        counted = ", ".join(
            f"{number} {flag}" for flag, number in PinTable(in_force).flags(now).items() if number
        )
        ever = sum(not pin.until for pin in in_force)
        words = f"{path}: {counted or 'none'} in force" + (
            f", {ever} of them without an end" if ever else ""
        )
        yield CheckReport("overrides", CheckState.OK, words)
    for worker in status.read_workers(context.state, now):
        if STALE.of(worker.metrics):
            words = (
                f"worker {worker.worker} can't use the store of manual overrides; its log says why"
            )
            yield CheckReport("overrides", CheckState.FAIL, words)
