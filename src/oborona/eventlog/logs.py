"""All logs of a site, each with what exports and checks it; one that fails stops no other."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from oborona import secret, state_files
from oborona.config import Settings
from oborona.errors import OboronaError, StoreError, StoreVersion
from oborona.eventlog.batch.run import LogChecker
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.daily.day_pass import DayPass
from oborona.eventlog.declared_log import DeclaredLog, read_logs
from oborona.eventlog.engines.choice import open_engine, work_folder
from oborona.eventlog.erasure.eraser import PersonEraser
from oborona.eventlog.export import logins
from oborona.eventlog.export.dropped_files import DroppedFiles
from oborona.eventlog.export.empty_slots import EmptySlots
from oborona.eventlog.export.exporter import LogExporter
from oborona.eventlog.export.own_log import OwnLog
from oborona.eventlog.export.received_events import ReceivedEvents
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.known_logs import OWN, model_path, root_folder, with_own
from oborona.eventlog.log_metrics import status_of
from oborona.eventlog.merge.merger import LogMerger
from oborona.eventlog.merge.retention import LogRetention
from oborona.eventlog.persons.person_scores import PersonScores
from oborona.eventlog.policy_rules import PolicyRules
from oborona.eventlog.readers.declared_reader import read_readers
from oborona.eventlog.readers.reader_tables import ReaderTables
from oborona.eventlog.schema import OWN_NAMES, LogSchema
from oborona.eventlog.thresholds import ThresholdRenewal
from oborona.policy.folders import PolicyFolders
from oborona.telemetry.log import event
from oborona.telemetry.status import EventLogStatus

HOUR_S: Final = 3600.0
MINUTE_S: Final = 60.0

_log = logging.getLogger("oborona.eventlog")


class LogStep(Protocol):
    """Work on a log, a little at a time."""

    def step(self) -> bool:
        """Do a little; return whether there was something to do."""


class WorkedLog(NamedTuple):
    """A log with what works on it."""

    name: str
    steps: Sequence[LogStep]  # in the order in which each is taken while there is something to do


class EventLogs:
    """The logs of a site.

    Args:
        logs: each with what works on it.
        rules: of the policy.
        store: what is known of them.
    """

    def __init__(self, logs: Sequence[WorkedLog], rules: PolicyRules, store: LogStore) -> None:
        self._logs = logs
        self._store = store
        self._rules = rules
        self.troubles: dict[str, str] = {}
        """What keeps a log from being worked on, by its name."""

    def step(self, go_on: Callable[[], bool]) -> bool:
        """Make, check and merge the tables that are due; return whether there were any.

        Args:
            go_on: asked before each step.

        Raises:
            StoreVersion: a store was written by a newer Oborona.
        """
        self._rules.follow()
        worked = [self._step(log, go_on) for log in self._logs]
        return any(worked)

    def work_on(self, name: str) -> None:
        """Do all there is to do for one log; what keeps it from that is in `troubles`.

        Raises:
            StoreVersion: a store was written by a newer Oborona.
        """
        for log in self._logs:
            while log.name == name and self._step(log, lambda: True):
                pass

    def status(self, now: float) -> EventLogStatus:
        """Return what is said of them; arguments as of `status_of`."""
        return status_of(self._store, [log.name for log in self._logs], self.troubles, now)

    def _step(self, log: WorkedLog, go_on: Callable[[], bool]) -> bool:
        worked = False
        try:
            for part in log.steps:
                while go_on() and part.step():
                    worked = True
        except StoreVersion:
            raise
        except OboronaError as error:
            if self.troubles.get(log.name) != str(error):
                event(_log, logging.ERROR, "an event log waits", log=log.name, error=error)
            self.troubles[log.name] = str(error)
            return False
        if self.troubles.pop(log.name, ""):
            event(_log, logging.WARNING, "an event log goes on", log=log.name)
        return worked


def open_logs(
    settings: Settings,
    state: Path,
    policy: PolicyFolders,
    closings: ExitStack,
    clock: Callable[[], float] = time.time,
) -> EventLogs:
    """Return the logs of a site, ready to be worked on; nobody else may be working on them.

    Args:
        settings: of the site.
        state: state folder, prepared.
        policy: whose rules are asked.
        closings: closes what is opened.
        clock: Unix seconds.

    Raises:
        ConfigError: a log, or a reader, is not declared as it must be.
        PolicyError: the policy can't be used, or has rules for another log than there is.
        StoreError: a store or a folder can't be used.
    """
    declared = read_logs(Path(settings.paths.event_logs), OWN_NAMES)
    known = with_own(declared)
    rules = PolicyRules(policy, known, settings.eventlog.engine)
    readers = read_readers(Path(settings.paths.event_readers), known)
    key = secret.load(state).eventlog
    hasher = EventHasher(key)
    root = root_folder(settings, state)
    work = work_folder(settings.eventlog, root, state / state_files.EVENT_LOG_WORK)
    try:
        for folder in (root, work):
            folder.mkdir(mode=0o750, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from error
    store = closings.enter_context(LogStore(state / state_files.EVENT_LOG_STORE))
    engine = closings.enter_context(open_engine(settings.eventlog, root, work))

    def worked(schema: LogSchema, sources: Callable[[LogFolder], Sequence[LogStep]]) -> WorkedLog:
        folder = LogFolder(root, schema.name)
        folder.sweep()
        scores = PersonScores(
            schema,
            folder,
            engine,
            model_path(state, schema.name),
            settings.eventlog.person_models,
            clock=clock,
        )
        checker = LogChecker(
            schema,
            folder,
            store,
            engine,
            rules=lambda: scores.of_last_day(rules.of(schema.name)),
            most=settings.eventlog.batch_tables,
            clock=clock,
            renewed=settings.eventlog.renew_thresholds,
        )
        merger = LogMerger(
            schema.name,
            folder,
            store,
            ready_s=settings.eventlog.ready_minutes * MINUTE_S,
            clock=clock,
        )
        retention = LogRetention(
            schema.name, folder, store, keep_days=settings.eventlog.keep_days, clock=clock
        )
        passes = DayPass(
            schema,
            folder,
            store,
            engine,
            rules=lambda: rules.of_day(schema.name),
            work=work,
            scores=scores,
            clock=clock,
            renewed=settings.eventlog.renew_thresholds,
            daily=settings.eventlog.daily_pass,
        )
        renewal = ThresholdRenewal(schema, folder, store, engine, clock=clock)
        eraser, resumed = (
            PersonEraser(schema, folder, store, begins=begins, clock=clock)
            for begins in (True, False)
        )
        steps = (resumed, *sources(folder), *((renewal,) * settings.eventlog.renew_thresholds))
        read = [
            ReaderTables(reader, schema, folder, key)
            for reader in readers
            if schema.name in reader.logs
        ]
        return WorkedLog(schema.name, (*steps, checker, merger, passes, eraser, retention, *read))

    def exported(log: OwnLog) -> WorkedLog:
        back_s = settings.eventlog.back_hours * HOUR_S
        return worked(
            log.schema,
            lambda folder: [LogExporter(log, folder, store, back_s=back_s, clock=clock)],
        )

    most_rows = settings.eventlog.table_rows

    def received(log: DeclaredLog, folder: LogFolder) -> ReceivedEvents:
        spool = state / state_files.EVENT_LOG_RECEIVED / log.schema.name
        return ReceivedEvents(log, spool, folder, store, hasher, most_rows=most_rows, clock=clock)

    def told(log: DeclaredLog) -> WorkedLog:
        return worked(
            log.schema,
            lambda folder: [
                DroppedFiles(log, folder, store, hasher, most_rows=most_rows, clock=clock),
                received(log, folder),
            ],
        )

    logged_in = worked(
        logins.SCHEMA,
        lambda folder: [
            received(logins.DECLARED, folder),
            EmptySlots(logins.SCHEMA, folder, store, clock=clock),
        ],
    )
    return EventLogs(
        [
            *(exported(log(state / name, hasher)) for log, name in OWN),
            logged_in,
            *map(told, declared),
        ],
        rules,
        store,
    )
