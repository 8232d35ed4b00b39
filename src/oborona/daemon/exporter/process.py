"""The process that keeps the tables up to date: a round, a rest, another round."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from oborona.config import Settings
from oborona.daemon.exporter.exporter import Exporter, export
from oborona.daemon.exporter.files import Files
from oborona.errors import StoreError
from oborona.heartbeat import Stop
from oborona.policy.before import Before
from oborona.telemetry.log import event

log = logging.getLogger("oborona.exporter")


def run(settings: Settings, state: Path, before: Before | None, ready: Callable[[], None]) -> int:
    """Be the exporter until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        state: state folder, prepared.
        before: what the parent knew of the policy; None = nothing.
        ready: called before the first round.

    Raises:
        StoreError: there are no keys.
    """
    stop = Stop()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the policy in force is followed
    exporter, files = Exporter(settings, state, before), Files(settings.export)
    ready()
    troubles: tuple[str, ...] = ()
    while not stop.is_set():
        now = troubles_of(exporter, files)
        if now != troubles:
            for trouble in now:
                event(log, logging.ERROR, "tables are not as they should be", why=trouble)
            if not now:
                event(log, logging.WARNING, "tables are as they should be again")
            troubles = now
        stop.wait(settings.export.interval_s)
    return os.EX_OK


def troubles_of(exporter: Exporter, files: Files) -> tuple[str, ...]:
    """Take a round; return what was wrong, and never raise."""
    try:
        return export(exporter, files, time.time()).troubles
    except StoreError as error:
        return (str(error),)
    except Exception as error:  # the barrier: the next round may do better
        log.exception("fault in exporting")
        return (f"a fault of ours: {error!r}",)
