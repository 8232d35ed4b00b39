"""What `oborona doctor` says of the daemon itself: does it run, are all its workers there, and what
ended it or one of its processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.cli.asked import Asked
from oborona.cli.doctor_traffic import ago
from oborona.cli.report import Report, State
from oborona.daemon import last_trouble
from oborona.daemon.watched import HUNG, SERVES
from oborona.errors import StoreError
from oborona.lock import holder
from oborona.session.setapart import kept
from oborona.telemetry import status

LATELY_S: Final = 600.0  # a process that died within it is news
STARTING_S: Final = 20.0  # until every worker has written its status, on a busy machine
START: Final = "oborona serve, or systemctl start oborona, or make run"


def daemon(asked: Asked) -> Iterator[Report]:
    """Look at the processes."""
    what, now = "daemon", time.time()
    trouble = last_trouble.read(asked.state)
    why = (
        f"; {ago(now - trouble.time)} ago {'it did not start' if trouble.process == 'start' else f'{trouble.process} ended'}: {trouble.why}"
        if trouble is not None
        else ""
    )
    try:
        held = holder(asked.state / state_files.WORKERS_LOCK)
        workers = status.read(asked.state, now)
    except StoreError as error:
        yield Report(
            what,
            State.WARN,
            f"can't be looked at: {error}",
            "run this as root or as the daemon's user",
        )
        return
    if held is None:
        yield Report(
            what, State.FAIL, f"no workers run on {asked.state}{why}", f"start it: {START}"
        )
        return
    wanted = asked.loaded.settings.worker.processes or len(os.sched_getaffinity(0))
    age_s = now - held.since.timestamp()
    if not workers or (len(workers) < wanted and age_s > STARTING_S):
        state = State.WARN if age_s <= STARTING_S else State.FAIL
        yield Report(
            what,
            state,
            f"{held}: {len(workers)} of {wanted} workers serve{why}",
            "its log says more",
        )
        return
    yield Report(what, State.OK, f"{held}: {len(workers)} workers serve")
    if _runs_as_root(held.pid):
        yield Report(
            "user",
            State.WARN,
            "the daemon runs as root: who breaks into it has the machine",
            "run it as a user of its own, as the units in systemd/ do (docs/install.md)",
        )
    yield from _hung(asked, now)
    yield from _deadly(asked, now)
    if trouble is not None and now - trouble.time < LATELY_S:
        yield Report("process", State.WARN, why.removeprefix("; "), "its log says more")


def _runs_as_root(process: int) -> bool:
    try:
        return Path(f"/proc/{process}").stat().st_uid == 0
    except OSError:
        return False


def _hung(asked: Asked, now: float) -> Iterator[Report]:
    """Tell of processes that had to be killed since their service began, and of those that do not
    serve.
    """
    for service in status.read_services(asked.state, now):
        hung = HUNG.samples(service.metrics)
        for (name,), serves in sorted(SERVES.samples(service.metrics).items()):
            times = hung.get((name,), 0)
            if times:
                yield Report(
                    name,
                    State.WARN,
                    f"hung {times} times since the service began, and was replaced",
                    (
                        "the log has the stacks of its threads after `process hangs`: please "
                        "report them"
                    ),
                )
            elif not serves and not name.startswith("worker-"):
                yield Report(name, State.WARN, "does not serve", "its log says more")


def _deadly(asked: Asked, now: float) -> Iterator[Report]:
    """Tell of messages over which workers died."""
    known = kept.read(asked.state, now)
    if known:
        apart = sum(one.apart for one in known)
        yield Report(
            "set-apart",
            State.WARN,
            (
                f"workers died over {len(known)} messages, the last one "
                f"{ago(now - known[-1].last)} ago; {apart} are filed as spam without being "
                f"looked into"
            ),
            (
                "oborona set-apart list; please report such a message, and what the log says "
                "of the death"
            ),
        )
