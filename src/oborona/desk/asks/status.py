"""What the processes say of themselves now."""

from __future__ import annotations

import time

import msgspec

from oborona import state_files
from oborona.desk.call import ask
from oborona.desk.processes.parts import (
    PolicyPart,
    ProcessPart,
    SupervisedPart,
    UnwellPart,
    late_words,
    policy_part,
    process_parts,
    supervised_parts,
    unwell_parts,
)
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.charts.sources import queues_of
from oborona.telemetry import status


class StatusQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How the processes do."""


class StatusAnswer(msgspec.Struct, kw_only=True):
    """How the processes do.

    Args:
        time: of this answer, Unix seconds.
        processes: workers first.
        supervised: the same and those that write no status, as supervisors see them.
        policy: which is in force, and where.
        final: by worker, the version of the final model; empty = none.
        unwell: what workers do not ask.
        queues: how much waits, by name.
        spools: octets that are not in the journal or the counters yet.
        relearning: how far the weights are made anew, 0 to 1; None = they are not.
        late: what is late or away, in words.
    """

    time: float
    processes: list[ProcessPart]
    supervised: list[SupervisedPart]
    policy: PolicyPart
    final: dict[int, str]
    unwell: list[UnwellPart]
    queues: dict[str, int]
    spools: dict[str, int]
    relearning: float | None
    late: list[str]


@ask("status.read", Right.STATUS)
def read_status(site: Site, caller: Caller, asked: StatusQuestion) -> StatusAnswer:
    """Read what the processes say.

    Raises:
        StoreError: the folder of their words can't be read.
    """
    now, settings = time.time(), site.loaded.settings
    workers = status.read_workers(site.state, now)
    publisher = status.read_process(site.state, status.PolicyStatus, now)
    trainer = status.read_process(site.state, status.TrainerStatus, now)
    recheck = status.read_process(site.state, status.RecheckStatus, now)
    reader = status.read_process(site.state, status.ReaderStatus, now)
    intake = status.read_process(site.state, status.IntakeStatus, now)
    flows = status.read_process(site.state, status.FlowStatus, now)
    logs = status.read_process(site.state, status.EventLogStatus, now)
    troubles = {
        **{f"worker-{one.worker}": one.dns_trouble or one.final_wrong for one in workers},
        "policy": publisher.trouble if publisher else "",
        "trainer": (trainer.trouble or trainer.events_trouble) if trainer else "",
        "recheck": recheck.trouble if recheck else "",
        "intake": intake.trouble if intake else "",
        "flows": flows.trouble if flows else "",
        "eventlog": "; ".join(f"{log}: {why}" for log, why in logs.troubles.items())
        if logs
        else "",
    }
    processes = list(process_parts(site, settings, troubles, now))
    supervised = list(supervised_parts(status.read_services(site.state, now)))
    policy = policy_part(publisher, workers)
    queues: dict[str, int] = {}
    said: tuple[tuple[str, status.WorkerStatus | status.ProcessStatus | None], ...] = (
        *(("worker", one) for one in workers),
        ("reader", reader),
        ("trainer", trainer),
        ("recheck", recheck),
    )
    for kind, one in said:
        for name, size in (queues_of(one.metrics, kind) if one else {}).items():
            queues[name] = queues.get(name, 0) + size
    return StatusAnswer(
        time=now,
        processes=processes,
        supervised=supervised,
        policy=policy,
        final={one.worker: one.final for one in workers},
        unwell=[part for one in workers for part in unwell_parts(one)],
        queues=queues,
        spools=_spools(site),
        relearning=trainer.relearning if trainer else None,
        late=list(late_words(processes, supervised, policy)),
    )


def _spools(site: Site) -> dict[str, int]:
    folders = {
        "journal": site.state / state_files.JOURNAL_SPOOL,
        "counters": site.state / state_files.COUNTERS / state_files.COUNTERS_SPOOL,
    }
    sizes = {}
    for name, folder in folders.items():
        sizes[name] = 0
        try:
            for file in folder.iterdir():
                sizes[name] += file.stat().st_size
        except OSError:  # it is not there, or a file of it has gone just now
            continue
    return sizes
