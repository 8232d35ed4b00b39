"""The writing side of the counter store: its environment, kept usable.

A map that is full doubles, as long as the disk has room; an environment that panicked, because a
meta page could not be written, is opened again; a data file that is found damaged when it is opened
is set aside, never deleted, and a new one begun.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import lmdb

from oborona.counters import file_check
from oborona.counters.lmdb_store import (
    LEAST_ROOM,
    MAX_READERS,
    MODE,
    DamagedStore,
    as_store_error,
    fill_up,
    set_aside,
)
from oborona.errors import StoreBusy, StoreError, StoreFull, StoreVersion

LOG: Final = logging.getLogger(__name__)

Result = TypeVar("Result")


class LmdbWriteEnvironment:
    """An LMDB environment to write to; whoever makes it holds the writer's lock.

    Args:
        directory: the store's; exists.
        map_bytes: first size of the map.
        sync: whether a transaction is on the disk when it ends.
        report: told, in words for an admin, when the map grows.

    Raises:
        StoreError: it cannot be made or opened.
    """

    def __init__(
        self, directory: Path, map_bytes: int, *, sync: bool, report: Callable[[str], None]
    ) -> None:
        self.directory = directory
        self._map_bytes = map_bytes
        self._sync = sync
        self._report = report
        self._panicked = False  # the environment is of no use until it is opened again
        self._failures = file_check.check(directory, report)
        self._distrusted = False  # a page was not what it should be
        self._opened_at = time.monotonic()
        self._environment = self._opened()

    @property
    def environment(self) -> lmdb.Environment:
        """The environment, to read from; open again if it had panicked.

        Raises:
            StoreError: it can't be opened again.
        """
        if self._panicked:
            self._reopen()
        return self._environment

    def within(self, work: Callable[[lmdb.Transaction[bytes]], Result]) -> Result:
        """Do `work` in a write transaction that is committed when this returns.

        It may be done more than once.

        Raises:
            StoreFull: no room on the disk.
            StoreError: the store cannot be written.
        """
        environment = self.environment
        with as_store_error(self.directory):
            while True:
                try:
                    with environment.begin(write=True) as txn:
                        done = work(txn)
                except lmdb.MapFullError:
                    self._grow()
                except lmdb.PanicError:
                    self._panicked = True
                    self._reopen()
                    raise
                except (lmdb.CorruptedError, lmdb.PageNotFoundError):
                    if not self._distrusted:
                        self._distrusted = True
                        file_check.distrust(self.directory)
                    raise
                else:
                    self._keep_length()
                    return done

    def close(self) -> None:
        """Close the environment, and note that this was in order."""
        self._environment.close()
        if self._distrusted:
            return
        ran = time.monotonic() - self._opened_at >= file_check.RUN_S
        try:
            file_check.mark_sound(
                self.directory, synced=self._sync, failures=0 if ran else self._failures
            )
        except StoreError as error:
            self._report(f"that the counter store was closed in order is not noted: {error}")

    def _keep_length(self) -> None:
        """Readers refuse a file that is shorter than its pages."""
        try:
            fill_up(self._environment, self.directory)
        except OSError as error:  # what was done is committed all the same
            self._report(
                f"the counter store in {self.directory} is shorter than its pages: {error}"
            )

    def _opened(self) -> lmdb.Environment:
        with as_store_error(self.directory):
            environment = self._open()
            try:
                fill_up(environment, self.directory)
                environment.reader_check()
                self._note(self._failures + 1)
            except BaseException:
                environment.close()
                raise
        return environment

    def _reopen(self) -> None:
        """Open the environment again after a panic; if that fails, the next try does it."""
        with as_store_error(self.directory):
            self._environment.close()
            self._environment = self._open()
        self._panicked = False

    def _note(self, failures: int) -> None:
        """Note that the file is sound; on a full disk the note that is there has to do."""
        try:
            file_check.mark_sound(self.directory, synced=self._sync, failures=failures)
        except StoreFull as error:
            if not self._sync:  # the note would say that it is synced
                raise
            self._report(f"{error}; the data file may be read as a whole at the next start")

    def _open(self) -> lmdb.Environment:
        return lmdb.open(
            os.fspath(self.directory),
            map_size=self._map_bytes,
            mode=MODE,
            readahead=False,  # records lie scattered
            max_readers=MAX_READERS,
            sync=self._sync,
        )

    def _grow(self) -> None:
        size = self._environment.info()["map_size"]
        disk = os.statvfs(self.directory)
        room = disk.f_bavail * disk.f_frsize
        if room < LEAST_ROOM:
            raise StoreFull(f"no room on the disk of {self.directory}: {room >> 10} KiB left")
        self._environment.set_mapsize(2 * size)
        self._map_bytes = 2 * size
        self._report(f"the counter store in {self.directory} may now grow to {2 * size >> 20} MiB")


def open_or_begin_anew(directory: Path, opened: Callable[[], Result]) -> Result:
    """Return what `opened` does; if the data file is damaged, set it aside and do it once more.

    After another error, which may come of a page that is not what it should be, the next opening
    reads all of it first.

    Raises:
        StoreError: it cannot be opened, and not be begun anew.
    """
    try:
        return opened()
    except DamagedStore as damage:
        with as_store_error(directory):
            aside = set_aside(directory, time.time())
        store = opened()
        LOG.error("%s; set aside as %s, a new one is begun", damage, aside)  # noqa: TRY400 - the text says it
        return store
    except (StoreBusy, StoreFull, StoreVersion):
        raise
    except StoreError:
        file_check.distrust(directory)
        raise
