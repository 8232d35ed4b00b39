"""The process of event logs: exports and checks what is due, until SIGTERM.

It is the only one that writes tables. What it can't do waits and is tried again; a killed one goes
on where it was.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from oborona import lock, state_files
from oborona.config import Settings
from oborona.errors import StoreError
from oborona.eventlog.logs import open_logs
from oborona.heartbeat import StopSignal
from oborona.policy.folders import PolicyFolders


def run(settings: Settings, state: Path, policy: PolicyFolders, *, once: bool = False) -> int:
    """Be the process of event logs; return the exit status.

    Args:
        settings: of the site.
        state: state folder, begun.
        policy: whose rules are asked.
        once: end when nothing is due.

    Raises:
        ConfigError: a log is not declared as it must be.
        PolicyError: the policy can't be used, or has rules for another log than there is.
        StoreBusy: another such process runs.
        StoreVersion: a store was written by a newer Oborona.
        StoreError: a store or a folder can't be used; with `once`, what a log waits for.
    """
    stop = StopSignal()
    with ExitStack() as closings:
        closings.enter_context(lock.hold(state / state_files.EVENT_LOG_LOCK, "oborona eventlog"))
        logs = open_logs(settings, state, policy, closings)
        while not stop.is_set():
            worked = logs.step(lambda: not stop.is_set())
            if once and logs.troubles:
                name, trouble = next(iter(logs.troubles.items()))
                raise StoreError(f"event log {name}: {trouble}")
            if once and not worked:
                break
            if not worked:
                stop.wait(settings.eventlog.look_s)
    return os.EX_OK
