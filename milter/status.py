"""What a worker, and the reader, says of itself while it runs: a small file that it writes anew every few seconds, for metrics and `oborona doctor`.

The file is replaced as a whole, so that a reader never sees half of one.  It is not synced: after a power failure nobody serves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from oborona.authentication.model import Identity
from oborona.errors import StoreError
from oborona.types import Action, Stage

STATUS: Final = "status"  # folder in the state folder
READER: Final = "reader"  # its file there
WRITE_S: Final = 5.0
STALE_S: Final = 30.0  # a file that was not written for so long is of a worker that runs no more


class ListStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a DNS list does, as one worker sees it."""

    state: str  # unknown, healthy, sick
    since: float  # Unix seconds
    why: str = ""  # of sick
    asked: int = 0
    listed: int = 0
    unanswered: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's words."""

    worker: int
    pid: int
    time: float  # when it was written, Unix seconds
    policy: str  # version in use
    policy_wrong: bool = False  # the files as they are now are refused, the old policy stays
    verdicts: dict[str, int] = {}  # "stage action" → how often
    results: dict[str, int] = {}  # of authentication: "method result" → how often
    dns: dict[str, int] = {}  # `oborona.milter.resolver.Stats`
    lists: dict[str, ListStatus] = {}  # by name
    pictures: dict[str, int] = {}  # "task outcome" → how often, of questions to the reader
    late: dict[str, int] = {}  # outcome → how often, of messages whose pictures were read after the answer
    late_waiting: int = 0  # such messages that wait
    signatures: dict[str, int] = {}  # live, shadow, expired, broken → how many are known
    signature_hits: dict[str, int] = {}  # "flag mode" → how often any was found
    signatures_stale: bool = False  # their store can't be used, what was known stays


class ReaderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's words; all by task."""

    pid: int
    time: float  # when it was written, Unix seconds
    outcomes: dict[str, int] = {}  # "task outcome" → how often
    seconds: dict[str, float] = {}  # that processes were busy
    started: dict[str, int] = {}  # processes, since the start
    waiting: dict[str, int] = {}  # pictures
    processes: dict[str, int] = {}  # that run


class Tally:
    """Counts verdicts by stage and action, and results of authentication."""

    __slots__ = ("counts", "results")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.results: dict[str, int] = {}

    def count(self, stage: Stage, action: Action) -> None:
        """Count one verdict."""
        _add(self.counts, f"{stage.value} {action.value}")

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


def write(state: Path, status: Status) -> None:
    """Replace a worker's file.

    Raises:
        StoreError: it can't be written.
    """
    _replace(state / STATUS, f"worker-{status.worker}", msgspec.json.encode(status))


def write_reader(state: Path, status: ReaderStatus) -> None:
    """Replace the reader's file.

    Raises:
        StoreError: it can't be written.
    """
    _replace(state / STATUS, READER, msgspec.json.encode(status))


def remove(state: Path, worker: int) -> None:
    """Take a worker's file away: it serves no more.

    Raises:
        StoreError: it stays.
    """
    _remove(state / STATUS / f"worker-{worker}.json")


def remove_reader(state: Path) -> None:
    """Take the reader's file away.

    Raises:
        StoreError: it stays.
    """
    _remove(state / STATUS / f"{READER}.json")


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


def read_reader(state: Path, now: float) -> ReaderStatus | None:
    """Return what the reader said last, None if it does not run."""
    try:
        said = (state / STATUS / f"{READER}.json").read_bytes()
        status = msgspec.json.decode(said, type=ReaderStatus)
    except (OSError, msgspec.DecodeError):  # gone, or of another version
        return None
    return status if abs(now - status.time) <= STALE_S else None


def read(state: Path, now: float) -> list[Status]:
    """Return what the workers that run said last, by number; what can't be read, or is old, is left out.

    Raises:
        StoreError: the folder is there and can't be read.
    """
    found = []
    try:
        files = sorted((state / STATUS).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{state / STATUS}: {error.strerror}") from error
    for file in files:
        if not file.name.startswith("worker-"):
            continue
        try:
            status = msgspec.json.decode(file.read_bytes(), type=Status)
        except (OSError, msgspec.DecodeError):  # gone, or of another version
            continue
        if abs(now - status.time) <= STALE_S:
            found.append(status)
    return sorted(found, key=lambda one: one.worker)
