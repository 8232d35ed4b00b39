"""What `oborona doctor` says of persons: how much they have said, and whether their store can be
used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.cli.asked import Asked
from oborona.cli.report import Report, State
from oborona.errors import StoreError
from oborona.stores.persons.follow import STALE
from oborona.stores.persons.store import Store
from oborona.telemetry import status


def personal(asked: Asked) -> Iterator[Report]:
    """Look at the store of persons, and at what workers say of it."""
    path = asked.state / state_files.PERSONS
    if not path.exists():
        yield Report("personal", State.OK, "nobody has said anything of their own mail yet")
        return
    try:
        with Store(path, make=False) as store:
            there = store.counted()
        yield Report(
            "personal",
            State.OK,
            (
                f"{path}: {there.persons} persons, {there.entries - there.contacts} entries, "
                f"{there.contacts} contacts"
            ),
        )
    except StoreError as error:
        yield Report("personal", State.FAIL, str(error))
    for worker in status.read(asked.state, time.time()):
        if STALE.of(worker.metrics):
            yield Report(
                "personal",
                State.FAIL,
                f"worker {worker.worker} can't read the store; its log says why",
            )
