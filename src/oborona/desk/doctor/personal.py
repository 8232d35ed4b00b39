"""What `oborona doctor` says of persons: how much they have said, and whether their store can be
used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.stores.persons.follower import STALE
from oborona.stores.persons.store import PersonStore
from oborona.telemetry import status


def personal(context: Site) -> Iterator[CheckReport]:
    """Look at the store of persons, and at what workers say of it."""
    path = context.state / state_files.PERSONS
    if not path.exists():
        yield CheckReport(
            "personal", CheckState.OK, "nobody has said anything of their own mail yet"
        )
        return
    try:
        with PersonStore(path, make=False) as store:
            counts = store.counted()
        yield CheckReport(
            "personal",
            CheckState.OK,
            (
                f"{path}: {counts.persons} persons, {counts.entries - counts.contacts} entries, "
                f"{counts.contacts} contacts"
            ),
        )
    except StoreError as error:
        yield CheckReport("personal", CheckState.FAIL, str(error))
    for worker in status.read_workers(context.state, time.time()):
        if STALE.of(worker.metrics):
            yield CheckReport(
                "personal",
                CheckState.FAIL,
                f"worker {worker.worker} can't read the store; its log says why",
            )
