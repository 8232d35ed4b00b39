"""What `oborona doctor` says of signatures: how many there are, and whether their store can be
used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.cli.asked import Asked
from oborona.cli.report import Report, State
from oborona.errors import PolicyError, StoreError
from oborona.policy.signatures import Flag
from oborona.stores.signatures.follow import SIGNATURES, STALE
from oborona.stores.signatures.rows import State as Stands
from oborona.stores.signatures.store import Store
from oborona.telemetry import status
from oborona.types import Mode


def signatures(asked: Asked) -> Iterator[Report]:
    """Look at the store of signatures, and at what workers hold."""
    path = asked.state / state_files.SIGNATURES
    if not path.exists():
        yield Report("signatures", State.WARN, f"{path} is not there yet")
        return
    try:
        yield Report("signatures", State.OK, f"{path}: {_counted(asked)}")
    except PolicyError:
        yield Report("signatures", State.WARN, f"{path}: not counted, for the policy is broken")
    except StoreError as error:
        yield Report("signatures", State.FAIL, str(error))
    for worker in status.read(asked.state, time.time()):
        if STALE.of(worker.metrics):
            yield Report(
                "signatures",
                State.FAIL,
                f"worker {worker.worker} can't use the store; its log says why",
            )
        broken = SIGNATURES.of(worker.metrics, "broken")
        if broken:
            yield Report(
                "signatures",
                State.WARN,
                f"worker {worker.worker} can't use {broken} of them; its log names each",
            )


def _counted(asked: Asked) -> str:
    now = time.time()
    with Store(asked.state / state_files.SIGNATURES, make=False) as store:
        stored = store.all(Stands.ACTIVE, Stands.PROPOSED)
    active = [one.signature for one in stored if one.state is Stands.ACTIVE]
    filed = [one for one in asked.policy().signatures.values() if one.flag is not Flag.MARK]
    marks = len(asked.policy().signatures) - len(filed)
    known = [*active, *filed]
    there = [one for one in known if not one.expired(now)]
    shadow = sum(one.mode is Mode.SHADOW for one in there)
    return (
        f"{len(there)} in force ({sum(not one.expired(now) for one in filed)} of policy files, "
        f"{shadow} in shadow mode), {marks} words of mark lists, "
        f"{len(known) - len(there)} expired, {len(stored) - len(active)} proposals wait"
    )
