"""What the processes say of themselves now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import msgspec

from oborona import state_files
from oborona.config import Settings
from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.charts.sources import queues_of
from oborona.telemetry import status

_SERVES: Final = "oborona_process_serves"
_STARTS: Final = "oborona_process_starts"
_DEATHS: Final = "oborona_process_deaths"
_HUNG: Final = "oborona_process_hung"


class StatusQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How the processes do."""


class ProcessPart(msgspec.Struct, kw_only=True):
    """One process.

    Args:
        name: worker-0, reader, trainer, …
        here: it runs, and has said so lately.
        at: when it said something last, Unix seconds; of who is away: since then; None = it never
            did, or that can't be read.
        pid: its id; 0 = not known.
        trouble: what it can't do; empty = nothing.
        wanted: the settings want it.
    """

    name: str
    here: bool
    at: float | None
    pid: int = 0
    trouble: str = ""
    wanted: bool = True


class UnwellPart(msgspec.Struct, kw_only=True):
    """A DNS list or another engine that is not asked, as a worker sees it."""

    worker: int
    kind: str  # list, engine
    name: str
    since: float  # Unix seconds
    why: str


class SupervisedPart(msgspec.Struct, kw_only=True):
    """A process as its supervisor sees it."""

    name: str
    serves: bool
    starts: int  # since the service began
    deaths: int  # that nobody asked for
    hung: int  # times that it was killed for that


class PolicyPart(msgspec.Struct, kw_only=True):
    """The policy.

    Args:
        version: in force; empty = the publisher is away.
        workers: by number, the version that each judges by.
        refused: what is wrong with the files; empty = nothing.
        place: file and line of that.
    """

    version: str = ""
    workers: dict[int, str] = {}
    refused: str = ""
    place: str = ""


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
    processes = list(_processes(site, settings, troubles, now))
    supervised = list(_supervised(status.read_services(site.state, now)))
    policy = _policy(publisher, workers)
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
        unwell=[part for one in workers for part in _unwell(one)],
        queues=queues,
        spools=_spools(site),
        relearning=trainer.relearning if trainer else None,
        late=list(_late(processes, supervised, policy)),
    )


def _processes(
    site: Site, settings: Settings, troubles: dict[str, str], now: float
) -> Iterator[ProcessPart]:
    marks = status.read_marks(site.state)
    wanted = {
        "policy": True,
        "trainer": True,
        "reader": settings.reader.enabled,
        "recheck": settings.recheck.enabled,
        "intake": settings.intake.doors,
        "flows": settings.flows.source != "off",
        "eventlog": settings.eventlog.enabled,
    }
    workers = [name for name in marks if name.startswith("worker-")] or ["worker-0"]
    others = [name for name in marks if name not in wanted and name not in workers]
    for name in (*sorted(workers, key=_number), *wanted, *others):
        mark = marks.get(name)
        if name not in marks and not wanted.get(name, True):
            continue
        yield ProcessPart(
            name=name,
            here=mark is not None and abs(now - mark.time) <= status.STALE_S,
            at=mark.time if mark else None,
            pid=mark.pid if mark else 0,
            trouble=troubles.get(name, "")
            or ("what it says can't be read" if name in marks and mark is None else ""),
            wanted=wanted.get(name, True),
        )


def _number(name: str) -> int:
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _supervised(services: list[status.ServiceStatus]) -> Iterator[SupervisedPart]:
    for service in services:
        told = {
            metric: dict(service.metrics.values.get(metric, ()))
            for metric in (_SERVES, _STARTS, _DEATHS, _HUNG)
        }
        for labels, serves in told[_SERVES].items():
            yield SupervisedPart(
                name="/".join(labels),
                serves=bool(serves),
                starts=int(told[_STARTS].get(labels, 0)),
                deaths=int(told[_DEATHS].get(labels, 0)),
                hung=int(told[_HUNG].get(labels, 0)),
            )


def _policy(
    publisher: status.PolicyStatus | None, workers: list[status.WorkerStatus]
) -> PolicyPart:
    part = PolicyPart(workers={one.worker: one.policy for one in workers})
    if publisher is not None:
        part.version = publisher.version
        if publisher.refused is not None:
            part.refused = publisher.refused.problem
            places = (publisher.refused.file, publisher.refused.line)
            part.place = ":".join(str(place) for place in places if place)
    return part


def _unwell(worker: status.WorkerStatus) -> Iterator[UnwellPart]:
    for name, one in worker.lists.items():
        if one.state == "sick":
            yield UnwellPart(
                worker=worker.worker, kind="list", name=name, since=one.since, why=one.why
            )
    for name, engine in worker.engines.items():
        if engine.away:
            yield UnwellPart(
                worker=worker.worker, kind="engine", name=name, since=engine.since, why=engine.why
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


def _late(
    processes: list[ProcessPart], supervised: list[SupervisedPart], policy: PolicyPart
) -> Iterator[str]:
    for part in processes:
        if part.wanted and not part.here:
            yield f"{part.name} is away" if part.at else f"{part.name} has said nothing"
        if part.trouble:
            yield f"{part.name}: {part.trouble}"
    for one in supervised:
        if not one.serves:
            yield f"{one.name} does not serve"
    if policy.refused:
        yield f"the policy files are refused: {policy.refused}"
    behind = [
        str(number) for number, version in policy.workers.items() if version != policy.version
    ]
    if policy.version and behind:
        yield f"workers judge by another policy: {', '.join(behind)}"
