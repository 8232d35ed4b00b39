r"""The counter store on one machine: an LMDB environment, and reading it.

    \0version           format, u32
    \0begun             its birth: `oborona.store_birth`, as JSON
    \0newest            the last ten-minute bucket that was believed, i64
    \0purge             where the next purge goes on, a key
    \0spool/<owner>     how far that spool is applied: file number, offset, sequence
    \0doorkeeper...     `doorkeeper_file.py`
    \0top/...           `top.py`
    \1..., \2..., ...   packed records (`record.py`) by prefix

One B-tree holds all, so that a count and the position it came from change in one transaction. An
environment is opened after the fork, once per process (`shared_environment.py`). Read transactions
last for one read: an old one would keep every page freed since from being used again, and the file
would grow. A file that is no whole LMDB file any more is set aside by the writer, never deleted;
readers notice that another took its place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import lmdb

from oborona import state_files
from oborona.counters.shared_environment import (
    acquire_environment,
    reading,
    release_environment,
)
from oborona.counters.spool import NO_ROOM
from oborona.counters.spool_follower import SpoolPosition
from oborona.errors import StoreBusy, StoreError, StoreFull, StoreVersion

VERSION: Final = 3
TAKES_NOTHING: Final = 2  # of a store in which nothing was ever taken back
VERSION_KEY: Final = b"\0version"
NEWEST_KEY: Final = b"\0newest"
BEGUN_KEY: Final = b"\0begun"
PURGE_KEY: Final = b"\0purge"
POSITION_KEY: Final = b"\0spool/"
DOORKEEPER_KEY: Final = b"\0doorkeeper"
DOORKEEPER_CHANGES_KEY: Final = b"\0doorkeeper/"
FIRST_RECORD: Final = b"\1"

U32: Final = struct.Struct("<I")
I64: Final = struct.Struct("<q")
POSITION: Final = struct.Struct("<IQQ")

MAP_BYTES: Final = 64 << 20  # the first size; the writer doubles it when it is full
MAX_READERS: Final = 512  # one for each process that reads: workers, keeper, console, command line
LEAST_ROOM: Final = 4 << 20  # with less on the disk a larger map would not help
MODE: Final = 0o640
LOOK_S: Final = 0.2  # between two looks whether the data file is still the one that is read


_process = 0  # counts forks; asking the kernel who we are costs a system call for each read


def _forked() -> None:
    global _process  # noqa: PLW0603 - there is one of it, as of the process
    _process += 1


os.register_at_fork(after_in_child=_forked)


class DamagedStore(StoreError):  # noqa: N818 - reads as what happened
    """The data file is no whole LMDB file."""

    why = "damaged"


@contextlib.contextmanager
def as_store_error(directory: Path) -> Iterator[None]:
    """Turn LMDB's errors into ours."""
    try:
        yield
    except lmdb.MapFullError as error:
        raise StoreFull(f"the map of {directory} is full: {error}") from error
    except lmdb.ReadersFullError as error:
        raise StoreBusy(f"more than {MAX_READERS} processes read {directory}") from error
    except (lmdb.InvalidError, lmdb.CorruptedError, lmdb.PageNotFoundError) as error:
        raise DamagedStore(f"the counter store in {directory} is damaged: {error}") from error
    except (lmdb.Error, OSError) as error:
        code = error.errno if isinstance(error, OSError) else getattr(error, "code", 0)
        if (
            isinstance(error, lmdb.DiskError)
            or code in NO_ROOM
            or (code == errno.EIO and _is_full(directory))
        ):
            raise StoreFull(f"no room on the disk of {directory}: {error}") from error
        also = " (or a write was cut short: quota, file size limit)" if code == errno.EIO else ""
        raise StoreError(f"cannot use the counter store in {directory}: {error}{also}") from error


def _is_full(directory: Path) -> bool:
    """LMDB makes EIO of a write that was cut short; on a full disk the first one is."""
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize < LEAST_ROOM


def check_version(txn: lmdb.Transaction[bytes], directory: Path) -> bool:
    """Return whether the store has been made; refuse one that is not for us.

    Raises:
        StoreVersion: a newer Oborona wrote it.
        StoreError: it is not a counter store.
    """
    stored = txn.get(VERSION_KEY)
    if stored is None:
        return False
    if len(stored) != U32.size:
        raise StoreError(f"{directory} holds no counter store of ours")
    (version,) = U32.unpack(stored)
    if version > VERSION:
        raise StoreVersion(
            f"the counter store in {directory} has version {version}, this Oborona knows {VERSION}:"
            " written by a newer Oborona"
        )
    return True


def note_taking(txn: lmdb.Transaction[bytes]) -> None:
    """Note that something is taken back in a store: who does not know of that would read it
    wrong.
    """
    if U32.unpack(txn.get(VERSION_KEY, b""))[0] < VERSION:
        txn.put(VERSION_KEY, U32.pack(VERSION))


def set_aside(directory: Path, now: float) -> Path:
    """Rename the data file, and LMDB's lock file with it; return its new name.

    To be called by who holds the writer's lock.

    Raises:
        OSError: it can't be renamed.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    number = 0
    # nothing that was set aside is written over
    while (directory / f"{state_files.COUNTERS_DATA}.damaged-{stamp}").exists():
        number += 1
        stamp = f"{stamp.partition('.')[0]}.{number}"
    # the data last: until it has gone, the next start does this again
    for name in (state_files.COUNTERS_READERS, state_files.COUNTERS_DATA):
        path = directory / name
        if path.exists():
            path.rename(directory / f"{name}.damaged-{stamp}")
    return directory / f"{state_files.COUNTERS_DATA}.damaged-{stamp}"


def missing(environment: lmdb.Environment, directory: Path) -> int:
    """Return how many bytes the data file is shorter than its pages.

    Reading there would end the process by SIGBUS.
    """
    length = int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])
    size = (directory / state_files.COUNTERS_DATA).stat().st_size  # looked at last: it only grows
    return max(0, length - size)


def fill_up(environment: lmdb.Environment, directory: Path) -> None:
    """Give a data file that is too short its length, in zeros: reading there is then an error, and
    not SIGBUS.

    One was cut short, another has pages at its end that a transaction took and never wrote; these
    stay unused. To be called by who holds the writer's lock.
    """
    short = missing(environment, directory)
    if short:
        path = directory / state_files.COUNTERS_DATA
        os.truncate(path, path.stat().st_size + short)


def _check_length(environment: lmdb.Environment, directory: Path) -> None:
    short = missing(environment, directory)
    if short:
        raise DamagedStore(
            f"the counter store in {directory} is damaged: {state_files.COUNTERS_DATA} is {short} "
            f"bytes shorter than its pages;"
            " the writer looks at it when it starts"
        )


def get_position(txn: lmdb.Transaction[bytes], owner: str) -> SpoolPosition | None:
    """Return how far a spool is applied; None when nothing of it is."""
    stored = txn.get(POSITION_KEY + owner.encode())
    if stored is None:
        return None
    number, offset, sequence = POSITION.unpack(stored)
    return SpoolPosition(number=number, offset=offset, sequence=sequence)


def put_position(txn: lmdb.Transaction[bytes], owner: str, position: SpoolPosition) -> None:
    """Keep how far a spool is applied."""
    txn.put(
        POSITION_KEY + owner.encode(),
        POSITION.pack(position.number, position.offset, position.sequence),
    )


def positions(txn: lmdb.Transaction[bytes]) -> dict[str, SpoolPosition]:
    """Return the positions of all spools."""
    spools = {}
    with txn.cursor() as cursor:
        cursor.set_range(POSITION_KEY)
        for key, stored in cursor:
            if not key.startswith(POSITION_KEY):
                break
            number, offset, sequence = POSITION.unpack(stored)
            spools[key.removeprefix(POSITION_KEY).decode()] = SpoolPosition(
                number=number, offset=offset, sequence=sequence
            )
    return spools


def begin(environment: lmdb.Environment) -> lmdb.Transaction[bytes]:
    """Return a read transaction, also when the writer has let the store grow."""
    try:
        return environment.begin()
    except lmdb.MapResizedError:
        environment.set_mapsize(0)
        return environment.begin()


class LmdbReader:
    """The reading side; for one thread, others of the process may have theirs.

    Args:
        directory: the store's.
        environment: its writer's, where that is of this process.
    """

    def __init__(self, directory: Path, environment: lmdb.Environment | None = None) -> None:
        self.directory = directory
        self._environment = environment
        self._given = environment is not None
        self._process = _process
        self._looked_at = -LOOK_S
        self._file: os.stat_result | None = None  # that the environment maps

    @contextlib.contextmanager
    def transaction(self) -> Iterator[lmdb.Transaction[bytes] | None]:
        """Give a read transaction on what is committed now; None while there is no store yet.

        A file that was put in the place of the one that is read is noticed LOOK_S later.

        Raises:
            StoreError: it cannot be read, or this object was made before a fork.
            StoreVersion: a newer Oborona wrote it.
        """
        if self._process != _process:
            raise StoreError(f"the counter store in {self.directory} was opened before a fork")
        with as_store_error(self.directory):
            environment = self._environment
            if not self._given:
                now = time.monotonic()
                if now - self._looked_at >= LOOK_S:
                    self._looked_at = now
                    if environment is not None and not self._is_in_place():
                        self.close()
                environment = self._environment or self._open()
            if environment is None:
                yield None
                return
            with reading(environment) as txn:
                yield txn

    @property
    def environment(self) -> lmdb.Environment | None:
        """What the last transaction was of, for tools that walk it.

        None before the first, and while there is no store.
        """
        return self._environment

    def close(self) -> None:
        """Let the environment go; the last reader of the process closes it, unless it was given."""
        if self._environment is not None and not self._given:
            release_environment(self._environment)
        self._environment = None

    def _is_in_place(self) -> bool:
        """Whether the file that we read is still the store's, and was not set aside."""
        try:
            return self._file is not None and os.path.samestat(
                self._file, (self.directory / state_files.COUNTERS_DATA).stat()
            )
        except FileNotFoundError:
            return False

    def _open(self) -> lmdb.Environment | None:
        try:
            self._file = (self.directory / state_files.COUNTERS_DATA).stat()
        except FileNotFoundError:
            return None
        if not self._file.st_size:
            return None
        self._environment = acquire_environment(self._file, self._make)
        return self._environment

    def _make(self) -> lmdb.Environment | None:
        environment = lmdb.open(
            os.fspath(self.directory),
            map_size=MAP_BYTES,
            readonly=True,
            create=False,
            mode=MODE,  # of a lock file that was missing
            readahead=False,  # records lie scattered
            max_readers=MAX_READERS,
            max_spare_txns=1,
        )
        try:
            _check_length(environment, self.directory)
            with begin(environment) as txn:
                current = check_version(txn, self.directory)
        except BaseException:
            environment.close()
            raise
        if not current:
            environment.close()
            return None
        return environment
