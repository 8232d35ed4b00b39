"""What a worker says of itself while it runs: a small file that it writes anew every few seconds, for metrics and `oborona doctor`.

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
    folder = state / STATUS
    fresh = folder / f".worker-{status.worker}"
    try:
        folder.mkdir(mode=0o750, exist_ok=True)
        fresh.write_bytes(msgspec.json.encode(status))
        fresh.replace(folder / f"worker-{status.worker}.json")
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error


def remove(state: Path, worker: int) -> None:
    """Take a worker's file away: it serves no more.

    Raises:
        StoreError: it stays.
    """
    file = state / STATUS / f"worker-{worker}.json"
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from error


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
