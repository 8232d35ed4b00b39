"""What `oborona doctor` says of signatures: how many there are, and whether their store can be
used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import PolicyError, StoreError
from oborona.policy.signatures import SignatureFlag
from oborona.stores.signatures.follower import SIGNATURES, STALE
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.telemetry import status
from oborona.types import RuleMode


def signatures(context: Site) -> Iterator[CheckReport]:
    """Look at the store of signatures, and at what workers hold."""
    path = context.state / state_files.SIGNATURES
    if not path.exists():
        yield CheckReport("signatures", CheckState.WARN, f"{path} is not there yet")
        return
    try:
        yield CheckReport("signatures", CheckState.OK, f"{path}: {_count_signatures(context)}")
    except PolicyError:
        yield CheckReport(
            "signatures", CheckState.WARN, f"{path}: not counted, for the policy is broken"
        )
    except StoreError as error:
        yield CheckReport("signatures", CheckState.FAIL, str(error))
    for worker in status.read_workers(context.state, time.time()):
        if STALE.of(worker.metrics):
            yield CheckReport(
                "signatures",
                CheckState.FAIL,
                f"worker {worker.worker} can't use the store; its log says why",
            )
        broken = SIGNATURES.of(worker.metrics, "broken")
        if broken:
            yield CheckReport(
                "signatures",
                CheckState.WARN,
                f"worker {worker.worker} can't use {broken} of them; its log names each",
            )


def _count_signatures(context: Site) -> str:
    now = time.time()
    with SignatureStore(context.state / state_files.SIGNATURES, make=False) as store:
        stored = store.all(SignatureState.ACTIVE, SignatureState.PROPOSED)
    active = [record.signature for record in stored if record.state is SignatureState.ACTIVE]
    filed = [
        signature
        for signature in context.policy().signatures.values()
        if signature.flag is not SignatureFlag.MARK
    ]
    marks = len(context.policy().signatures) - len(filed)
    every = [*active, *filed]
    in_force = [signature for signature in every if not signature.expired(now)]
    shadow = sum(signature.mode is RuleMode.SHADOW for signature in in_force)
    return (
        f"{len(in_force)} in force ({sum(not one.expired(now) for one in filed)} of policy files, "
        f"{shadow} in shadow mode), {marks} words of mark lists, "
        f"{len(every) - len(in_force)} expired, {len(stored) - len(active)} proposals wait"
    )
