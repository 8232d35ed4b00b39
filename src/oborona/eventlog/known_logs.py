"""Which event logs a site has, and where each lies; no package of event logs is needed for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.config import Settings
from oborona.eventlog.declared_log import DeclaredLog, read_logs
from oborona.eventlog.export.accounts import DeedLog, IncidentLog
from oborona.eventlog.export.feedback import FeedbackLog
from oborona.eventlog.export.flows import FlowLog
from oborona.eventlog.export.logins import LoginLog
from oborona.eventlog.export.messages import MessageLog
from oborona.eventlog.export.moves import MoveLog
from oborona.eventlog.export.own_log import OwnLog
from oborona.eventlog.export.refusals import RefusalLog
from oborona.eventlog.schema import OWN_NAMES, LogSchema

OWN: Final[tuple[tuple[type[OwnLog], str], ...]] = (
    (FeedbackLog, state_files.EVENTS),
    (MessageLog, state_files.JOURNAL),
    (RefusalLog, state_files.JOURNAL),
    (MoveLog, state_files.MOVES),
    (DeedLog, state_files.ACCOUNTS),
    (IncidentLog, state_files.ACCOUNTS),
    (FlowLog, state_files.FLOWS),
)
"""Logs of our own, each with the store that it follows; `logins` comes by the spool of events."""


def root_folder(settings: Settings, state: Path) -> Path:
    """Return the folder of all logs."""
    return Path(settings.eventlog.folder or state / state_files.EVENT_LOGS)


def model_path(state: Path, log: str) -> Path:
    """Return where the model of the persons of a log is."""
    return state / state_files.EVENT_LOG_MODELS / f"{log}.model"


def schemas(settings: Settings) -> tuple[LogSchema, ...]:
    """Return the schemas of all logs, our own first.

    Raises:
        ConfigError: a log is not declared as it must be.
    """
    return with_own(read_logs(Path(settings.paths.event_logs), OWN_NAMES))


def with_own(declared: Sequence[DeclaredLog]) -> tuple[LogSchema, ...]:
    """Return the schemas of our own logs, and of those that are declared behind them."""
    return (*(log.schema for log in own_kinds()), *(log.schema for log in declared))


def own_kinds() -> tuple[type[OwnLog | LoginLog], ...]:
    """Return the logs of our own, whichever way their events come."""
    return (*(log for log, _ in OWN), LoginLog)
