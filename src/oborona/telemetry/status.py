"""The status of each process while it runs: a small file that it replaces every few seconds, for
metrics and `oborona doctor`.

The file is replaced as a whole, so that a reader never sees half of one.  It is not synced: after a
power failure nobody serves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from oborona import state_files
from oborona.errors import StoreError
from oborona.metrics import MetricsSnapshot
from oborona.telemetry.alert import CampaignSighting

WRITE_S: Final = 5.0
STALE_S: Final = 30.0  # a file that was not written for so long is of a worker that runs no more


class ListStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a DNS list does, as one worker sees it."""

    state: str  # unknown, healthy, sick
    since: float  # Unix seconds
    why: str = ""  # of sick


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How another engine does, as one worker sees it."""

    away: bool  # it is asked now and then alone, to see whether it is back
    since: float  # Unix seconds
    why: str = ""  # of away


class WorkerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of one worker."""

    worker: int
    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot
    policy: str  # version in use
    resolvers: str = ""  # whom it asks, with spaces between
    dns_trouble: str = ""  # why the DNS is of no use; empty: it is
    lists: dict[str, ListStatus] = {}  # by name
    engines: dict[str, EngineStatus] = {}  # by name
    campaigns: tuple[CampaignSighting, ...] = ()  # that it sees now, the latest last
    final: str = ""  # version of the final model in use; empty = there is none
    final_wrong: str = ""  # why the file of the final model is refused; empty = it is not


class ReaderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's words."""

    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot


class IntakeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of the process that hears what people say of their mail."""

    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot
    trouble: str = ""  # why nothing is written down; empty = it is


class RecheckStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of the second look at delivered mail."""

    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot
    trouble: str = ""  # what can't be done; empty = nothing


class FlowStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of the process that counts flows of SMTP."""

    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot
    trouble: str = ""  # why files wait; empty = they do not


class EventLogStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of the process that checks event logs."""

    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot
    troubles: dict[str, str] = {}  # what keeps a log from being worked on, by its name


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a supervisor."""

    name: str  # of the first process that it is there for
    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot


class PolicyRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the policy files, and where."""

    problem: str
    file: str = ""
    line: int = 0  # 1-based, 0 = unknown
    column: int = 0  # 1-based, 0 = unknown
    text: str = ""  # of that line, as it was read


class PolicyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of the process that publishes the policy."""

    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot
    version: str  # in force
    refused: PolicyRefusal | None = None  # what is wrong with the files now
    trouble: str = ""  # why the files, which are right, are not in force


class TrainerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The trainer's words."""

    pid: int
    time: float  # when it was written, Unix seconds
    metrics: MetricsSnapshot
    version: str = ""  # of the weights
    # how far making the weights anew has come, 0..1; None: it is not being done
    relearning: float | None = None
    trouble: str = ""  # why nothing is learned; empty = it is
    events_trouble: str = ""  # why nothing that people say is decided; empty = it is


ProcessStatus = (
    ReaderStatus
    | TrainerStatus
    | PolicyStatus
    | IntakeStatus
    | RecheckStatus
    | FlowStatus
    | EventLogStatus
)
"""What those say of which a machine has one."""
_ProcessStatus = TypeVar(
    "_ProcessStatus",
    ReaderStatus,
    TrainerStatus,
    PolicyStatus,
    IntakeStatus,
    RecheckStatus,
    FlowStatus,
    EventLogStatus,
)
_FILES: Final[dict[type[ProcessStatus], str]] = {
    ReaderStatus: "reader",
    TrainerStatus: "trainer",
    PolicyStatus: "policy",
    IntakeStatus: "intake",
    RecheckStatus: "recheck",
    FlowStatus: "flows",
    EventLogStatus: "eventlog",
}
"""Who says what → the file in the folder."""


_SERVICE: Final = "service-"
"""How the names of supervisors' files begin: several may run, one for each unit."""


def write_status(state: Path, status: WorkerStatus | ProcessStatus) -> None:
    """Replace the file of whoever says this.

    Raises:
        StoreError: it can't be written.
    """
    name = f"worker-{status.worker}" if isinstance(status, WorkerStatus) else _FILES[type(status)]
    _replace(state / state_files.STATUS, name, msgspec.json.encode(status))


def write_service(state: Path, status: ServiceStatus) -> None:
    """Replace the file of a supervisor.

    Raises:
        StoreError: it can't be written.
    """
    _replace(state / state_files.STATUS, f"{_SERVICE}{status.name}", msgspec.json.encode(status))


def remove_service(state: Path, name: str) -> None:
    """Take a supervisor's file away: it has ended.

    Raises:
        StoreError: it stays.
    """
    _remove(state / state_files.STATUS / f"{_SERVICE}{name}.json")


def remove_worker(state: Path, worker: int) -> None:
    """Take a worker's file away: it serves no more.

    Raises:
        StoreError: it stays.
    """
    _remove(state / state_files.STATUS / f"worker-{worker}.json")


def remove_process(state: Path, kind: type[ProcessStatus]) -> None:
    """Take the file of the process that says such things away.

    Raises:
        StoreError: it stays.
    """
    _remove(state / state_files.STATUS / f"{_FILES[kind]}.json")


def _replace(folder: Path, name: str, octets: bytes) -> None:
    fresh = folder / f".{name}"
    try:
        folder.mkdir(mode=0o750, exist_ok=True)
        fresh.write_bytes(octets)
        fresh.replace(folder / f"{name}.json")
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from error


def read_process(state: Path, kind: type[_ProcessStatus], now: float) -> _ProcessStatus | None:
    """Return what the process that says such things said last, None if it does not run."""
    try:
        status = msgspec.json.decode(
            (state / state_files.STATUS / f"{_FILES[kind]}.json").read_bytes(), type=kind
        )
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # gone, or of another version
        return None
    return status if abs(now - status.time) <= STALE_S else None


class StatusMark(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote a status, and when."""

    pid: int
    time: float  # Unix seconds


def read_marks(state: Path) -> dict[str, StatusMark | None]:
    """Return who has written each status, also of those who do not run, by the files' names.

    None = it can't be read.
    """
    marks: dict[str, StatusMark | None] = {}
    for file in sorted((state / state_files.STATUS).glob("[!.]*.json")):
        if file.name == Path(state_files.LAST_TROUBLE).name:
            continue
        try:
            marks[file.stem] = msgspec.json.decode(file.read_bytes(), type=StatusMark)
        except FileNotFoundError:  # it has ended just now
            continue
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            marks[file.stem] = None
    return marks


def read_services(state: Path, now: float) -> list[ServiceStatus]:
    """Return what the supervisors that run said last, by name.

    What can't be read, or is old, is left out.
    """
    statuses = []
    for file in sorted((state / state_files.STATUS).glob(f"{_SERVICE}*.json")):
        try:
            status = msgspec.json.decode(file.read_bytes(), type=ServiceStatus)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # gone, or of another version
            continue
        if abs(now - status.time) <= STALE_S:
            statuses.append(status)
    return statuses


def read_workers(state: Path, now: float) -> list[WorkerStatus]:
    """Return what the workers that run said last, by number.

    What can't be read, or is old, is left out.

    Raises:
        StoreError: the folder is there and can't be read.
    """
    statuses = []
    try:
        files = sorted((state / state_files.STATUS).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{state / state_files.STATUS}: {error.strerror}") from error
    for file in files:
        if not file.name.startswith("worker-"):
            continue
        try:
            status = msgspec.json.decode(file.read_bytes(), type=WorkerStatus)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # gone, or of another version
            continue
        if abs(now - status.time) <= STALE_S:
            statuses.append(status)
    return sorted(statuses, key=lambda status: status.worker)
