"""What a worker, and the reader, says of itself while it runs: a small file that it writes anew every few seconds, for metrics and `oborona doctor`.

The file is replaced as a whole, so that a reader never sees half of one.  It is not synced: after a power failure nobody serves.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from oborona import state_files
from oborona.authentication.model import Identity
from oborona.errors import StoreError
from oborona.milter.alarm.model import Sighting
from oborona.types import Action, Stage, Verdict

WRITE_S: Final = 5.0
SCAN_S: Final = (
    0.001,
    0.002,
    0.003,
    0.005,
    0.007,
    0.01,
    0.02,
    0.03,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    30.0,
)
"""Steps of the histogram of how long scans take, in seconds."""
STALE_S: Final = 30.0  # a file that was not written for so long is of a worker that runs no more


class ListStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a DNS list does, as one worker sees it."""

    state: str  # unknown, healthy, sick
    since: float  # Unix seconds
    why: str = ""  # of sick
    asked: int = 0
    listed: int = 0
    unanswered: int = 0


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How another engine does, as one worker sees it."""

    away: bool  # it is asked now and then alone, to see whether it is back
    since: float  # Unix seconds
    why: str = ""  # of away
    outcomes: dict[str, int] = {}  # outcome → questions
    seconds: float = 0.0  # that all questions took together


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's words."""

    worker: int
    pid: int
    time: float  # when it was written, Unix seconds
    policy: str  # version in use
    verdicts: dict[str, int] = {}  # "stage action" → how often
    doors: dict[str, int] = {}  # "door outcome" → requests and connections
    busy: int = (
        0  # messages, and commands before one, that were told to come again, for too many were being judged
    )
    set_apart: int = 0  # messages that were not looked into, for workers had died over them
    results: dict[str, int] = {}  # of authentication: "method result" → how often
    dns: dict[str, int] = {}  # `oborona.milter.resolver.Stats`
    resolvers: str = ""  # whom it asks, with spaces between
    dns_trouble: str = ""  # why the DNS is of no use; empty: it is
    lists: dict[str, ListStatus] = {}  # by name
    engines: dict[str, EngineStatus] = {}  # by name
    pictures: dict[str, int] = {}  # "task outcome" → how often, of questions to the reader
    late: dict[str, int] = {}  # outcome → how often, of messages whose pictures were read after the answer
    late_waiting: int = 0  # such messages that wait
    signatures: dict[str, int] = {}  # live, shadow, expired, broken → how many are known
    signature_hits: dict[str, int] = {}  # "flag mode" → how often any was found
    signatures_stale: bool = False  # their store can't be used, what was known stays
    pins: dict[str, int] = {}  # flag → how many are in force
    pins_stale: bool = False  # their store can't be used, what was known stays
    persons: dict[str, int] = {}  # kept, read, failed → how often a person was looked for
    persons_known: int = 0  # who may have said something
    persons_stale: bool = False  # their store can't be read
    contacts: int = 0  # learned from outgoing mail
    campaigns: tuple[Sighting, ...] = ()  # that it sees now, the latest last
    traps: dict[str, int] = {}  # new, known, failed → messages to traps
    model: str = ""  # version of the weights of the content model; empty = there are none
    model_wrong: bool = False  # they can't be used
    final: str = ""  # version of the final model in use; empty = there is none
    final_wrong: str = ""  # why the file of the final model is refused; empty = it is not
    deliveries: dict[str, int] = {}  # "verdict answer" → recipients, at the delivery door
    next_hop: dict[str, int] = {}  # "step trouble" → messages that met it there
    rules: dict[str, int] = {}  # "NAME mode" → messages that it hit
    would: dict[
        str, int
    ] = {}  # "action action" → messages with the first that everything in shadow mode would have given the second
    scans: dict[
        str, int
    ] = {}  # seconds, one of `SCAN_S` → messages that took so long and longer than the step before
    scan_seconds: float = 0.0  # of all scans together


class ReaderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's words; all by task."""

    pid: int
    time: float  # when it was written, Unix seconds
    outcomes: dict[str, int] = {}  # "task outcome" → how often
    seconds: dict[str, float] = {}  # that processes were busy
    started: dict[str, int] = {}  # processes, since the start
    waiting: dict[str, int] = {}  # pictures
    processes: dict[str, int] = {}  # that run


class IntakeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of the process that hears what people say of their mail."""

    pid: int
    time: float  # when it was written, Unix seconds
    events: dict[str, int] = {}  # "way what outcome" → how many
    refused: dict[str, int] = {}  # "door why" → requests that were no event
    trouble: str = ""  # why nothing is written down; empty = it is


class SecondStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of the second look at delivered mail."""

    pid: int
    time: float  # when it was written, Unix seconds
    looked: dict[
        str, int
    ] = {}  # glanced, judged, unjudged, failed, decided → messages, or moves, since the start
    moves: dict[str, int] = {}  # what a mailbox said → copies
    waiting: int = 0  # changes whose messages are not all looked at
    paused: bool = False  # moves have stopped until an admin says so
    alerts: dict[str, int] = {}  # "channel outcome" → how many were sent, or not
    trouble: str = ""  # what can't be done; empty = nothing


class ProcessStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a supervisor says of one of its processes."""

    serves: bool
    starts: int = 0  # since the service began, as all that follow
    deaths: int = 0  # that nobody asked for
    hung: int = 0  # deaths for showing no sign of life


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a supervisor."""

    name: str  # of the first process that it is there for
    pid: int
    time: float  # when it was written, Unix seconds
    processes: dict[str, ProcessStatus] = {}  # by name


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
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
    version: str  # in force
    since: float  # Unix seconds
    changes: int = 0  # of the policy in force, since the service started
    refusals: int = 0  # times that files were found broken
    seconds: float = 0.0  # that the last change took, from when it was seen until all workers judged by it
    late: tuple[int, ...] = ()  # workers that were not ready then
    refused: Refusal | None = None  # what is wrong with the files now
    refused_at: float = 0.0  # when files were found broken last, Unix seconds
    trouble: str = ""  # why the files, which are right, are not in force


class TrainerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The trainer's words."""

    pid: int
    time: float  # when it was written, Unix seconds
    version: str = ""  # of the weights
    changed: float = 0.0  # when the weights last changed, Unix seconds; 0: never
    learned: dict[str, int] = {}  # spam, ham → messages that the weights stand on
    words: dict[str, int] = {}  # "state kind" → how many are written down
    relearning: float | None = (
        None  # how far making the weights anew has come, 0..1; None: it is not being done
    )
    trouble: str = ""  # why nothing is learned; empty = it is
    events: dict[str, int] = {}  # "what way decision" → how many were decided since the start
    events_waiting: int = 0  # events that are not decided yet
    events_trouble: str = ""  # why nothing that people say is decided; empty = it is


One = ReaderStatus | TrainerStatus | PolicyStatus | IntakeStatus | SecondStatus
"""What those say of which a machine has one."""
_Said = TypeVar("_Said", ReaderStatus, TrainerStatus, PolicyStatus, IntakeStatus, SecondStatus)
_FILES: Final[dict[type[One], str]] = {
    ReaderStatus: "reader",
    TrainerStatus: "trainer",
    PolicyStatus: "policy",
    IntakeStatus: "intake",
    SecondStatus: "recheck",
}
"""Who says what → the file in the folder."""


_SERVICE: Final = "service-"
"""How the names of supervisors' files begin: several may run, one for each unit."""


class Tally:
    """Counts verdicts by stage and action, results of authentication, hits of rules, and how long scans take."""

    __slots__ = ("counts", "doors", "results", "rules", "scan_seconds", "scans", "would")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.doors: dict[str, int] = {}
        self.results: dict[str, int] = {}
        self.rules: dict[str, int] = {}
        self.would: dict[str, int] = {}
        self.scans: dict[str, int] = {}
        self.scan_seconds = 0.0

    def count(self, stage: Stage, action: Action) -> None:
        """Count one verdict."""
        _add(self.counts, f"{stage.value} {action.value}")

    def at_door(self, door: str, outcome: str) -> None:
        """Count what became of a request or a connection."""
        _add(self.doors, f"{door} {outcome}")

    def judged(self, verdict: Verdict, took_s: float) -> None:
        """Count the hits of a message's rules, what everything in shadow mode would have done, and how long its scan took."""
        for hit in verdict.rules:
            _add(self.rules, f"{hit.name} {hit.mode.value}")
        if verdict.would is not None:
            _add(self.would, f"{verdict.action.value} {verdict.would.action.value}")
        step = bisect_left(SCAN_S, took_s)
        _add(self.scans, str(SCAN_S[step]) if step < len(SCAN_S) else "inf")
        self.scan_seconds += took_s

    def authenticated(self, identity: Identity) -> None:
        """Count what was found of one message; of several signatures each."""
        for method, result in (
            ("spf", identity.spf.result),
            *(("dkim", one.result) for one in identity.dkim),
            ("dmarc", identity.dmarc.result),
            ("arc", identity.arc.result),
            ("iprev", identity.iprev.result),
        ):
            _add(self.results, f"{method} {result.value}")


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1


def write(state: Path, said: Status | One) -> None:
    """Replace the file of whoever says this.

    Raises:
        StoreError: it can't be written.
    """
    name = f"worker-{said.worker}" if isinstance(said, Status) else _FILES[type(said)]
    _replace(state / state_files.STATUS, name, msgspec.json.encode(said))


def write_service(state: Path, said: ServiceStatus) -> None:
    """Replace the file of a supervisor.

    Raises:
        StoreError: it can't be written.
    """
    _replace(state / state_files.STATUS, f"{_SERVICE}{said.name}", msgspec.json.encode(said))


def remove_service(state: Path, name: str) -> None:
    """Take a supervisor's file away: it has ended.

    Raises:
        StoreError: it stays.
    """
    _remove(state / state_files.STATUS / f"{_SERVICE}{name}.json")


def remove(state: Path, worker: int) -> None:
    """Take a worker's file away: it serves no more.

    Raises:
        StoreError: it stays.
    """
    _remove(state / state_files.STATUS / f"worker-{worker}.json")


def remove_one(state: Path, kind: type[One]) -> None:
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


def read_one(state: Path, kind: type[_Said], now: float) -> _Said | None:
    """Return what the process that says such things said last, None if it does not run."""
    try:
        status = msgspec.json.decode(
            (state / state_files.STATUS / f"{_FILES[kind]}.json").read_bytes(), type=kind
        )
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # gone, or of another version
        return None
    return status if abs(now - status.time) <= STALE_S else None


def read_services(state: Path, now: float) -> list[ServiceStatus]:
    """Return what the supervisors that run said last, by name; what can't be read, or is old, is left out."""
    found = []
    for file in sorted((state / state_files.STATUS).glob(f"{_SERVICE}*.json")):
        try:
            said = msgspec.json.decode(file.read_bytes(), type=ServiceStatus)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # gone, or of another version
            continue
        if abs(now - said.time) <= STALE_S:
            found.append(said)
    return found


def read(state: Path, now: float) -> list[Status]:
    """Return what the workers that run said last, by number; what can't be read, or is old, is left out.

    Raises:
        StoreError: the folder is there and can't be read.
    """
    found = []
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
            status = msgspec.json.decode(file.read_bytes(), type=Status)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # gone, or of another version
            continue
        if abs(now - status.time) <= STALE_S:
            found.append(status)
    return sorted(found, key=lambda one: one.worker)
