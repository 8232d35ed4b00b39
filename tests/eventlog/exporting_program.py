"""Flows and logins become tables, killed at random: `exporting_program.py STATE KILLS SEED`.

STATE has `flows.db` and a spool of logins. A child makes all tables that are due; it is killed
after a random time, and another one goes on, until KILLS were killed; the last one comes to the
end. Prints how many were killed before they had done all. Children are forked by a process that has
imported all and opened nothing.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from oborona import state_files
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.export import logins
from oborona.eventlog.export.empty_slots import EmptySlots
from oborona.eventlog.export.exporter import LogExporter
from oborona.eventlog.export.flows import FlowLog
from oborona.eventlog.export.received_events import ReceivedEvents
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.slots import SLOT_S
from tests.eventlog.worlds import HASHER, START

SLOTS = 24
LONGEST_S = 0.4  # that a child lives


def clock() -> float:
    """Return the same time always: what comes of it must not hang on it."""
    return START + SLOTS * SLOT_S + 11.0


def work(state: Path) -> None:
    """Do all there is to do."""
    with ExitStack() as closings:
        (state / "logs").mkdir(exist_ok=True)
        store = closings.enter_context(LogStore(state / state_files.EVENT_LOG_STORE))
        flows, folder = (LogFolder(state / "logs", name) for name in ("flows", "logins"))
        for one in (flows, folder):
            one.sweep()
        spool = state / state_files.EVENT_LOG_RECEIVED / "logins"
        log = FlowLog(state / state_files.FLOWS, HASHER)
        back_s = SLOTS * SLOT_S + SLOT_S
        for part in (
            LogExporter(log, flows, store, back_s=back_s, clock=clock),
            ReceivedEvents(
                logins.DECLARED, spool, folder, store, HASHER, most_rows=10_000, clock=clock
            ),
            EmptySlots(logins.SCHEMA, folder, store, clock=clock),
        ):
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
