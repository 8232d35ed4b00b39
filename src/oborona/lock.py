"""One holder at a time: a lock file that says who has it.

    open (never remove: a removed lock file lets two hold "the same" one) → flock → is it still the
    file of that name? → write pid, program and time as one JSON line → keep the descriptor open
    until release or death

The kernel drops the lock with its last descriptor, so nothing is left behind by kill -9; what the
file then says is history and decides nothing. Descriptors are not inherited by programs started,
but are by a bare fork: take the lock in the process that needs it. Limits: flock(2) holds on one
machine; network file systems may say yes to two.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from oborona.errors import StoreBusy, StoreError

# `holder` locks for an instant to look; and a holder that ends right now is no conflict
PATIENCE_S: Final = 0.25
RETRY_S: Final = 0.02
RECORD_BYTES: Final = 1024  # more was not written by us
MODE: Final = 0o600  # whoever can open the file can hold it


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock, as its file says."""

    pid: int
    program: str  # "oborona writer"
    since: datetime  # UTC

    def __str__(self) -> str:
        return f"{self.program} (pid {self.pid}, since {self.since:%Y-%m-%d %H:%M:%S} UTC)"


class FileLock:
    """A lock that is held.

    Released by `release`, by leaving its `with`, or by the end of the process.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Let others have it; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.release()


def hold(path: str | os.PathLike[str], program: str, *, patience_s: float = PATIENCE_S) -> FileLock:
    """Take the lock at `path`, or say who has it.

    Args:
        path: the lock file; made when it is missing, its folder is not.
        program: what others are told, e.g. "oborona writer".
        patience_s: seconds to wait for another holder to end.

    Returns:
        The lock: no other process of this machine has it until it is released.

    Raises:
        StoreBusy: another holds it; the text names its program, pid and start.
        StoreError: the file cannot be opened, locked or written.
    """
    where = Path(path)
    patience = time.monotonic() + patience_s
    while True:
        with _as_store_error(where):
            descriptor = os.open(where, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, MODE)
        try:
            with _as_store_error(where):
                if _try_lock(descriptor, fcntl.LOCK_EX) and _is_at(where, descriptor):
                    _write(
                        descriptor,
                        LockHolder(pid=os.getpid(), program=program, since=datetime.now(UTC)),
                    )
                    lock, descriptor = FileLock(where, descriptor), -1
                    return lock
            if time.monotonic() >= patience:
                holder = _read(descriptor)
                raise StoreBusy(
                    f"{where} is held by {holder or 'a process that did not leave its name'}"
                )
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        time.sleep(RETRY_S)


def holder(path: str | os.PathLike[str]) -> LockHolder | None:
    """Return who holds the lock at `path` now; None when nobody does, or did not leave a name.

    Raises:
        StoreError: the file is there and cannot be read.
    """
    where = Path(path)
    with _as_store_error(where):
        try:
            descriptor = os.open(where, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            return None if _try_lock(descriptor, fcntl.LOCK_SH) else _read(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot lock {path}: {error.strerror or error}") from error


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether `path` still names the file we locked, and not one that replaced it meanwhile."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _write(descriptor: int, record: LockHolder) -> None:
    line = msgspec.json.encode(record) + b"\n"
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, line, 0)


def _read(descriptor: int) -> LockHolder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, RECORD_BYTES, 0), type=LockHolder)
    except (OSError, ValueError):  # msgspec's errors are ValueErrors
        return None
