"""What is told of processes and of the policy, of what workers do not ask, and of what is late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from oborona.config import Settings
from oborona.desk.site import Site
from oborona.telemetry import status

_SERVES: Final = "oborona_process_serves"
_STARTS: Final = "oborona_process_starts"
_DEATHS: Final = "oborona_process_deaths"
_HUNG: Final = "oborona_process_hung"


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


def process_parts(
    site: Site, settings: Settings, troubles: dict[str, str], now: float
) -> Iterator[ProcessPart]:
    """Yield what is told of each process, workers first.

    Args:
        site: whose.
        settings: say which are wanted.
        troubles: name → what the process can't do.
        now: Unix seconds.
    """
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


def supervised_parts(services: list[status.ServiceStatus]) -> Iterator[SupervisedPart]:
    """Yield each process as its supervisor sees it."""
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


def policy_part(
    publisher: status.PolicyStatus | None, workers: list[status.WorkerStatus]
) -> PolicyPart:
    """Return which policy is in force, and by which each worker judges.

    Args:
        publisher: what it says; None = it is away.
        workers: what they say.
    """
    part = PolicyPart(workers={one.worker: one.policy for one in workers})
    if publisher is not None:
        part.version = publisher.version
        if publisher.refused is not None:
            part.refused = publisher.refused.problem
            places = (publisher.refused.file, publisher.refused.line)
            part.place = ":".join(str(place) for place in places if place)
    return part


def unwell_parts(worker: status.WorkerStatus) -> Iterator[UnwellPart]:
    """Yield the DNS lists and other engines that a worker does not ask."""
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


def late_words(
    processes: list[ProcessPart], supervised: list[SupervisedPart], policy: PolicyPart
) -> Iterator[str]:
    """Yield what is late or away, in words."""
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
