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
from oborona.daemon import last_trouble
from oborona.daemon.supervised_process import HUNG, SERVES
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.doctor.traffic import ago
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.lock import holder
from oborona.session.quarantine import suspect_store
from oborona.telemetry import status

LATELY_S: Final = 600.0  # a process that died within it is news
STARTING_S: Final = 20.0  # until every worker has written its status, on a busy machine
START: Final = "oborona serve, or systemctl start oborona, or make run"


def daemon(context: Site) -> Iterator[CheckReport]:
    """Look at the processes."""
    subject, now = "daemon", time.time()
    trouble = last_trouble.read_last_trouble(context.state)
    why = (
        f"; {ago(now - trouble.time)} ago {'it did not start' if trouble.process == 'start' else f'{trouble.process} ended'}: {trouble.why}"
        if trouble is not None
        else ""
    )
    try:
        lock_holder = holder(context.state / state_files.WORKERS_LOCK)
        workers = status.read_workers(context.state, now)
    except StoreError as error:
        yield CheckReport(
            subject,
            CheckState.WARN,
            f"can't be looked at: {error}",
            "run this as root or as the daemon's user",
        )
        return
    if lock_holder is None:
        yield CheckReport(
            subject,
            CheckState.FAIL,
            f"no workers run on {context.state}{why}",
            f"start it: {START}",
        )
        return
    expected = context.loaded.settings.worker.processes or len(os.sched_getaffinity(0))
    age_s = now - lock_holder.since.timestamp()
    if not workers or (len(workers) < expected and age_s > STARTING_S):
        state = CheckState.WARN if age_s <= STARTING_S else CheckState.FAIL
        yield CheckReport(
            subject,
            state,
            f"{lock_holder}: {len(workers)} of {expected} workers serve{why}",
            "its log says more",
        )
        return
    yield CheckReport(subject, CheckState.OK, f"{lock_holder}: {len(workers)} workers serve")
    if _runs_as_root(lock_holder.pid):
        yield CheckReport(
            "user",
            CheckState.WARN,
            "the daemon runs as root: who breaks into it has the machine",
            "run it as a user of its own, as the units in systemd/ do (docs/install.md)",
        )
    yield from _hung(context, now)
    yield from _deadly(context, now)
    if trouble is not None and now - trouble.time < LATELY_S:
        yield CheckReport("process", CheckState.WARN, why.removeprefix("; "), "its log says more")


def _runs_as_root(process: int) -> bool:
    try:
        return Path(f"/proc/{process}").stat().st_uid == 0
    except OSError:
        return False


def _hung(context: Site, now: float) -> Iterator[CheckReport]:
    """Tell of processes that had to be killed since their service began, and of those that do not
    serve.
    """
    for service in status.read_services(context.state, now):
        hung = HUNG.samples(service.metrics)
        for (name,), serves in sorted(SERVES.samples(service.metrics).items()):
            times = hung.get((name,), 0)
            if times:
                yield CheckReport(
                    name,
                    CheckState.WARN,
                    f"hung {times} times since the service began, and was replaced",
                    (
                        "the log has the stacks of its threads after `process hangs`: please "
                        "report them"
                    ),
                )
            elif not serves and not name.startswith("worker-"):
                yield CheckReport(name, CheckState.WARN, "does not serve", "its log says more")


def _deadly(context: Site, now: float) -> Iterator[CheckReport]:
    """Tell of messages over which workers died."""
    suspects = suspect_store.read_suspects(context.state, now)
    if suspects:
        apart = sum(suspect.apart for suspect in suspects)
        yield CheckReport(
            "set-apart",
            CheckState.WARN,
            (
                f"workers died over {len(suspects)} messages, the last one "
                f"{ago(now - suspects[-1].last)} ago; {apart} are filed as spam without being "
                f"looked into"
            ),
            (
                "oborona set-apart list; please report such a message, and what the log says "
                "of the death"
            ),
        )
