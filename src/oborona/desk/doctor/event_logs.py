"""What `oborona doctor` says of event logs: whether they are exported and checked in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona import lock, state_files
from oborona.daemon.event_logs import check_packages
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import ConfigError, StoreError
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.lateness import waiting_tables
from oborona.eventlog.schema import OWN_NAMES

DAY_S: Final = 86_400.0
LATE_S: Final = 4 * 3600.0  # from a table's delivery to the checked one: what others are promised
WARNED_S: Final = LATE_S / 4
SILENT_S: Final = 900.0  # a log of ours has a table each five minutes
SHOWN: Final = 5  # tables by name


def event_logs(context: Site) -> Iterator[CheckReport]:
    """Look at event logs; nothing is said where there are to be none."""
    if not context.loaded.settings.eventlog.enabled:
        return
    try:
        check_packages()
    except ConfigError as error:
        yield CheckReport("event logs", CheckState.FAIL, str(error))
        return
    holder = lock.holder(context.state / state_files.EVENT_LOG_LOCK)
    if holder is None:
        yield CheckReport(
            "event logs",
            CheckState.FAIL,
            "the process does not run: events wait where they are",
            "systemctl start oborona-eventlog.service, where the units run one by one",
        )
    else:
        yield CheckReport("event logs", CheckState.OK, f"run (pid {holder.pid})")
    try:
        with LogStore(context.state / state_files.EVENT_LOG_STORE, make=False) as store:
            for log in store.logs():
                yield from _log(store, log, time.time())
    except StoreError as error:
        yield CheckReport("event tables", CheckState.WARN, str(error))


def _log(store: LogStore, log: str, now: float) -> Iterator[CheckReport]:
    """Yield what is to be said of one log."""
    subject = f"event log {log}"
    sources = store.sources(log, since=now - DAY_S)
    late = waiting_tables(store, log, now, WARNED_S, 10_000)
    if late:
        oldest = max(now - source.delivered for source in late)
        names = ", ".join(
            f"{source.name} (delivered {(now - source.delivered) / 3600:.1f} h ago)"
            for source in late[:SHOWN]
        )
        more = f" and {len(late) - SHOWN} more" if len(late) > SHOWN else ""
        yield CheckReport(
            subject,
            CheckState.FAIL if oldest > LATE_S else CheckState.WARN,
            f"{len(late)} tables are not checked yet: {names}{more}",
        )
    aside = store.set_aside(log, now - DAY_S)
    if aside:
        last = ": ".join(aside[-1])
        yield CheckReport(
            subject,
            CheckState.WARN,
            f"{len(aside)} set aside in the last day, the last {last}",
        )
    newest = max((source.delivered for source in sources), default=None)
    if log in OWN_NAMES and (newest is None or now - newest > SILENT_S):
        yield CheckReport(
            subject,
            CheckState.WARN,
            "no table came in the last 15 minutes: one is due each five, if nothing happened too",
        )
    elif not late and not aside:
        yield CheckReport(
            subject,
            CheckState.OK,
            f"{len(sources)} tables of the last day, {sum(s.rows for s in sources)} events",
        )
