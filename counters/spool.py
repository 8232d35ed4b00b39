"""A worker's spool: append-only files that hold what it counted until the writer has applied it.

    <worker>.<session>.<number>.spool    a session is one opening by one process; numbers grow as
                                         files fill up

Each file is locked (flock) by its process for as long as it may grow, so that the writer can tell a
quiet spool from a dead one; it gets its name only once it is locked. A session never continues
another's file: whatever a crash left at an end, nothing is appended behind it. What is written
survives the death of the process; syncs of file and folder, in a thread of their own so that no
event loop waits for a disk, make it survive power loss, a second later at most. A sync that failed
is always told: by the next `sync_if_due`, or by `close`.

On a full disk a half-written record is cut off again, and the same bytes are offered later.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from oborona.errors import StoreError, StoreFull

SUFFIX: Final = ".spool"
MAKE_ATTEMPTS: Final = 3  # a sweep can lock one and unlink the next
UNNAMED: Final = ".new"  # a file that is not locked yet
FILE_BYTES: Final = 64 << 20  # removed as a whole once applied: bounds what lies about
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
MODE: Final = 0o640
NAME: Final = re.compile(r"([A-Za-z0-9_-]+)\.([0-9a-f]{20})\.([0-9]{8})" + re.escape(SUFFIX))
WORKER: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class SpoolFile(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A spool file by its name."""

    worker: str
    session: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.worker}.{self.session}.{self.number:08d}{SUFFIX}"

    @property
    def owner(self) -> str:
        """The worker and session: what has one position in the store."""
        return f"{self.worker}.{self.session}"


def parse_name(name: str) -> SpoolFile | None:
    """Return what a file name says; None when it is no spool's."""
    match = NAME.fullmatch(name)
    if match is None:
        return None
    return SpoolFile(worker=match[1], session=match[2], number=int(match[3]))


class CounterSpool:
    """The appending side; one process, one thread.

    Args:
        directory: made when missing.
        worker: letters, digits, - and _; for people, need not be unique.
        file_bytes: a file that has grown past this is followed by the next.
        sync_s: at most this long between two `fdatasync`, seconds; 0: `sync_if_due` waits for one
            each time; None: none.

    Nothing is made before the first `append`, so that a full disk keeps no worker from its mail.
    """

    def __init__(
        self, directory: Path, worker: str, *, sync_s: float | None, file_bytes: int = FILE_BYTES
    ) -> None:
        if not WORKER.fullmatch(worker):
            raise ValueError(f"a worker's name is letters, digits, - and _: {worker!r}")
        self._directory = directory
        self._file_bytes = file_bytes
        self._sync_s = sync_s
        # time first, so that sessions of one worker sort in their order
        session = f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(4)}"
        self._file = SpoolFile(worker=worker, session=session, number=0)
        self._process = os.getpid()
        self._descriptor = -1
        self._size = 0
        self._oldest = 1  # of the files that may be there
        self._doubtful = False  # the end of the file could not be cut back
        self._syncer: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None
        self._synced_at = 0.0
        self._unsynced = False

    @property
    def owner(self) -> str:
        """Under which the store keeps how far this spool is applied."""
        return self._file.owner

    @property
    def number(self) -> int:
        """The file that was last appended to; 0 before the first."""
        return self._file.number

    @property
    def begins_file(self) -> bool:
        """Whether the next record begins a file."""
        return self._descriptor < 0 or self._doubtful or self._size >= self._file_bytes

    def append(self, data: bytes) -> None:
        """Write one record behind the others; whole or, when this raises, not at all.

        Raises:
            StoreFull: no room; a later try may succeed.
            StoreError: the file cannot be written.
        """
        if self.begins_file:
            self._next_file()
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, memoryview(data)[written:])
        except OSError as error:
            self._cut_back()
            raise _store_error(error, f"cannot write {self._path}") from error
        self._size += len(data)
        self._unsynced = True

    def sync_if_due(self, now: float) -> None:
        """Have the disk take what was appended, in another thread, if the last time is long enough
        ago.

        Raises:
            StoreError: the sync before this one, or one that was waited for, failed; the spool goes
                on in a new file.
        """
        if self._sync_s is None:
            return
        if self._syncing is not None:
            if self._sync_s and not self._syncing.done():
                return
            self._look_back()
        if self._unsynced and abs(now - self._synced_at) >= self._sync_s:
            self._unsynced = False
            self._synced_at = now
            self._hand_to_syncer(partial(_sync, os.dup(self._descriptor), self._path))
            if not self._sync_s:
                self._look_back()

    def drop(self, before: int) -> None:
        """Remove this session's files below a number: for an owner who applies them himself while
        he lives.

        Args:
            before: `number` at most, while anything is appended.

        Raises:
            StoreError: one can't be removed; a later call tries again.
        """
        while self._oldest < before:
            path = self._directory / msgspec.structs.replace(self._file, number=self._oldest).name
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise _store_error(error, f"cannot remove {path}") from error
            self._oldest += 1

    def drop_all(self) -> None:
        """Remove all that was appended: older files go, the last one is cut to nothing and goes on.

        Raises:
            StoreError: a file can't be removed; a later call tries again.
        """
        if self._descriptor >= 0 and self._size:
            self._size = 0
            self._cut_back()
        self.drop(self._file.number)

    def discard(self) -> None:
        """Remove all files, and let go of them; a second call does nothing.

        Raises:
            StoreError: one can't be removed; whoever follows finds it.
        """
        try:
            self.drop(self._file.number + 1)
        finally:
            self.close()

    def close(self) -> None:
        """Sync and let the writer have the rest; a second call does nothing.

        Raises:
            StoreError: this sync, or one that nobody was told of, failed.
        """
        if self._descriptor >= 0:
            self._let_go()
            self._descriptor = -1
        if self._syncer is not None:
            self._syncer.shutdown()
            self._syncer = None
        last, self._syncing = self._syncing, None
        if last is not None:
            last.result()

    def _look_back(self) -> None:
        """Wait for the last sync, and those before it."""
        future, self._syncing = self._syncing, None
        if future is None:
            return
        try:
            future.result()
        except StoreError:
            self._doubtful = True  # the kernel may have dropped pages it could not write
            raise

    @property
    def _path(self) -> Path:
        return self._directory / self._file.name

    def _next_file(self) -> None:
        if os.getpid() != self._process:
            raise StoreError(f"the spool {self._file.owner} was opened before a fork")
        following = msgspec.structs.replace(self._file, number=self._file.number + 1)
        path = self._directory / following.name
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor = _make_locked(path)
        except OSError as error:
            raise _store_error(error, f"cannot make {path}") from error
        if self._descriptor >= 0:
            self._let_go()
        if self._sync_s is not None:
            self._hand_to_syncer(partial(sync_directory, self._directory))
            # its own name may be new
            self._hand_to_syncer(partial(sync_directory, self._directory.parent))
        self._descriptor, self._file = descriptor, following
        self._size, self._doubtful, self._unsynced = 0, False, False

    def _let_go(self) -> None:
        """Close the file; the disk shall have it first."""
        if self._sync_s is None:
            os.close(self._descriptor)
        else:
            self._hand_to_syncer(partial(_sync, self._descriptor, self._path))

    def _hand_to_syncer(self, sync: Callable[[], None]) -> None:
        if self._syncer is None:
            self._syncer = ThreadPoolExecutor(1, thread_name_prefix="spool-sync")
        self._syncing = self._syncer.submit(_sync_behind, self._syncing, sync)

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._doubtful = True


def _make_locked(path: Path) -> int:
    """Return a new file that had its lock before it had its name.

    A writer that starts sweeps files without a name that are not locked yet, and may meet this very
    one: once.
    """
    unnamed = path.with_suffix(UNNAMED)
    for attempt in range(MAKE_ATTEMPTS):
        descriptor = os.open(
            unnamed, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unnamed.rename(path)
        except OSError as error:
            os.close(descriptor)
            unnamed.unlink(missing_ok=True)
            swept = isinstance(error, FileNotFoundError | BlockingIOError)
            if not swept or attempt == MAKE_ATTEMPTS - 1:
                raise
        else:
            return descriptor
    raise AssertionError("the last attempt returns or raises")


def _sync_behind(before: Future[None] | None, sync: Callable[[], None]) -> None:
    """Sync, then pass on what the one before met: it is done, on the same thread, and nobody asked
    it.
    """
    sync()
    if before is not None:
        before.result()


def _sync(descriptor: int, path: Path) -> None:
    """Have the disk take a file, and close it.

    Raises:
        StoreError: it did not.
    """
    try:
        os.fdatasync(descriptor)
    except OSError as error:
        raise _store_error(error, f"cannot sync {path}") from error
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Have the disk take the names of the files in a folder.

    Raises:
        StoreError: it did not.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _store_error(error, f"cannot sync {directory}") from error


def _store_error(error: OSError, action: str) -> StoreError:
    kind = StoreFull if error.errno in NO_ROOM else StoreError
    return kind(f"{action}: {error.strerror or error}")
