"""The whole way of a log of others, killed at random: `pipeline_program.py STATE KILLS SEED`.

STATE has `eventlog.d` and files in the folder that it names. A child takes, checks and merges them,
and goes over the day; it is killed after a random time, and another one goes on, until KILLS were
killed; the last one comes to the end. Prints how many were killed before they had done all.
Children are forked by a process that has imported all and opened nothing.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from oborona.config.eventlog import PersonModelMode
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.daily import day_pass
from oborona.eventlog.daily.day_pass import DayPass
from oborona.eventlog.declared_log import read_logs
from oborona.eventlog.engines.local import LocalEngine
from oborona.eventlog.export.dropped_files import DroppedFiles
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.merge.merger import LogMerger
from oborona.eventlog.merge.retention import LogRetention
from oborona.eventlog.persons.person_scores import PersonScores
from tests.eventlog.worlds import HASHER, NO_RULES, START, CheckedLog

vars(day_pass)["MOST_TRIES"] = 1_000_000  # a pass that is killed as often is given up elsewhere
MOST = 4  # tables of a batch
LONGEST_S = 1.5  # that a child lives


def clock() -> float:
    """Return the same time always: what comes of it must not hang on it."""
    return START + 7200.0


def work(state: Path) -> None:
    """Do all there is to do."""
    with ExitStack() as closings:
        for name in ("logs", "work"):
            (state / name).mkdir(exist_ok=True)
        (log,) = read_logs(state / "eventlog.d", frozenset())
        name = log.schema.name
        store = closings.enter_context(LogStore(state / "eventlog.db"))
        folder = LogFolder(state / "logs", name)
        folder.sweep()
        engine = closings.enter_context(LocalEngine(state / "logs", state / "work", memory_mib=256))
        checked = CheckedLog(state / "logs", store, engine, most=MOST, schema=log.schema)
        checked.checker._clock = clock
        scores = PersonScores(
            log.schema, folder, engine, state / "no.model", PersonModelMode.SHADOW, clock=clock
        )
        parts = (
            DroppedFiles(log, folder, store, HASHER, most_rows=10_000, clock=clock),
            checked.checker,
            LogMerger(name, folder, store, ready_s=0, clock=clock),
            LogRetention(name, folder, store, keep_days=0, clock=clock),
            DayPass(
                log.schema,
                folder,
                store,
                engine,
                rules=lambda: NO_RULES,
                work=state / "work",
                scores=scores,
                clock=lambda: START + 2 * 86_400.0,
            ),
        )
        for part in parts:
            while part.step():
                pass


def main(state: Path, kills: int, seed: int) -> None:
    """Kill children; let the last one end."""
    drawn, killed = random.Random(seed), 0
    for turn in range(kills + 1):
        child = os.fork()
        if not child:
            work(state)
            os._exit(0)
        if turn < kills:
            time.sleep(drawn.random() ** 2 * LONGEST_S)
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        killed += os.WIFSIGNALED(status)
    assert status == 0, status
    print(killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
