"""The process that keeps the tables up to date: a round, a rest, another round."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from oborona.config import Settings
from oborona.daemon.exporter.exporter import TableExporter, export
from oborona.daemon.exporter.files import ExportFiles
from oborona.errors import StoreError
from oborona.heartbeat import StopSignal
from oborona.policy.load_cache import PolicyCache
from oborona.telemetry.log import event

log = logging.getLogger("oborona.exporter")


def run(
    settings: Settings, state: Path, before: PolicyCache | None, ready: Callable[[], None]
) -> int:
    """Be the exporter until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        state: state folder, prepared.
        before: what the parent knew of the policy; None = nothing.
        ready: called before the first round.

    Raises:
        StoreError: there are no keys.
    """
    stop = StopSignal()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the policy in force is followed
    exporter, files = TableExporter(settings, state, before), ExportFiles(settings.export)
    ready()
    troubles: tuple[str, ...] = ()
    while not stop.is_set():
        now = export_troubles(exporter, files)
        if now != troubles:
            for trouble in now:
                event(log, logging.ERROR, "tables are not as they should be", why=trouble)
            if not now:
                event(log, logging.WARNING, "tables are as they should be again")
            troubles = now
        stop.wait(settings.export.interval_s)
    return os.EX_OK


def export_troubles(exporter: TableExporter, files: ExportFiles) -> tuple[str, ...]:
    """Take a round; return what was wrong, and never raise."""
    try:
        return export(exporter, files, time.time()).troubles
    except StoreError as error:
        return (str(error),)
    except Exception as error:  # the barrier: the next round may do better
        log.exception("fault in exporting")
        return (f"a fault of ours: {error!r}",)
