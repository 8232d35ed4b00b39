"""The process of event logs: exports, checks and merges what is due, until SIGTERM.

It is the only one that writes tables: whoever starts it holds the lock. What it can't do waits and
is tried again; a killed one goes on where it was.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from oborona.config import Settings
from oborona.errors import OboronaError, StoreError
from oborona.eventlog.logs import EventLogs, open_logs
from oborona.heartbeat import StopSignal
from oborona.policy.folders import PolicyFolders
from oborona.telemetry import status
from oborona.telemetry.log import event

_log = logging.getLogger("oborona.eventlog")


def run(settings: Settings, state: Path, policy: PolicyFolders, ready: Callable[[], None]) -> int:
    """Be the process of event logs until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        state: state folder, prepared.
        policy: whose rules are asked.
        ready: called once it runs.

    Raises:
        ConfigError: a log is not declared as it must be.
        PolicyError: the policy can't be used, or has rules for another log than there is.
        StoreVersion: a store was written by a newer Oborona.
        StoreError: a store or a folder can't be used.
    """
    stop = StopSignal()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # settings need a restart
    written = float("-inf")
    with ExitStack() as closings:
        closings.callback(status.remove_process, state, status.EventLogStatus)
        logs = open_logs(settings, state, policy, closings)
        ready()
        while not stop.is_set():
            worked = logs.step(lambda: not stop.is_set())
            if time.monotonic() - written >= status.WRITE_S:
                written = time.monotonic()
                _write(state, logs)
            if not worked:
                stop.wait(settings.eventlog.look_s)
    return os.EX_OK


def _write(state: Path, logs: EventLogs) -> None:
    try:
        status.write_status(state, logs.status(time.time()))
    except OboronaError as error:
        event(_log, logging.WARNING, "no status for metrics", error=error)


def run_once(settings: Settings, state: Path, policy: PolicyFolders) -> None:
    """Do what is due, and end; arguments as of `run`.

    Raises:
        ConfigError: a log is not declared as it must be.
        PolicyError: the policy can't be used, or has rules for another log than there is.
        StoreError: a store or a folder can't be used, or what a log waits for.
    """
    with ExitStack() as closings:
        logs = open_logs(settings, state, policy, closings)
        while logs.step(lambda: True):
            pass
        _raise_trouble(logs)


def work_on(settings: Settings, state: Path, policy: PolicyFolders, log: str) -> None:
    """Do what is due for one log, and end; arguments and errors as of `run_once`.

    Args:
        settings: of the site.
        state: state folder, prepared.
        policy: whose rules are asked.
        log: its name.
    """
    with ExitStack() as closings:
        logs = open_logs(settings, state, policy, closings)
        logs.work_on(log)
        _raise_trouble(logs)


def _raise_trouble(logs: EventLogs) -> None:
    for name, trouble in logs.troubles.items():
        raise StoreError(f"event log {name}: {trouble}")
