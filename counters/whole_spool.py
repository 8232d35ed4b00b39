"""A spool file that is counted whole and once, or not at all, by somebody who dies at any moment.

    stage    all its records are written, in a folder of the owner's, and are on the disk
    (the owner notes, on the disk, that what the file counts is counted: from here on it is)
    release  the file moves among the spools, in one step

Whoever starts again releases what he had noted and finds staged, and unstages what he finds staged
and had not noted.  What he had noted and does not find was released.  The writer takes a released
file for one of a process that has ended: each record is applied once, and the file goes.

Both folders lie in one file system.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from oborona.counters.spool import (
    MODE,
    NO_ROOM,
    SUFFIX,
    SpoolFile,
    parse_name,
    sync_directory,
)
from oborona.errors import StoreError, StoreFull

FRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class WholeSpool:
    """The spool files of one owner that are staged and released.

    Args:
        staging: folder of the owner's; made when missing.
        spools: folder of the counters' spools; made when missing.
        worker: letters, digits, - and _; for people.
    """

    def __init__(self, staging: Path, spools: Path, worker: str) -> None:
        self._staging = staging
        self._spools = spools
        self._worker = worker

    def stage(self, records: Iterable[bytes]) -> str:
        """Write records, numbered from 1 on, and have the disk take them; return the file's name.

        Raises:
            StoreFull: no room; nothing is left.
            StoreError: it can't be written; nothing is left.
        """
        session = f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(4)}"
        name = SpoolFile(worker=self._worker, session=session, number=1).name
        path = self._staging / name
        try:
            self._staging.mkdir(parents=True, exist_ok=True)
            try:
                with os.fdopen(os.open(path, FRESH, MODE), "wb") as file:
                    for record in records:
                        file.write(record)
                    file.flush()
                    os.fsync(file.fileno())
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        except OSError as error:
            kind = StoreFull if error.errno in NO_ROOM else StoreError
            raise kind(f"cannot write {path}: {error.strerror or error}") from error
        sync_directory(self._staging)
        return name

    def release(self, name: str) -> None:
        """Let the counters have a staged file; one that is not there was released before.

        Raises:
            StoreError: it can't be moved; a later call tries again.
        """
        try:
            self._spools.mkdir(parents=True, exist_ok=True)
            try:
                (self._staging / name).rename(self._spools / name)
            except FileNotFoundError:
                return
        except OSError as error:
            raise StoreError(f"cannot move {name} to {self._spools}: {error}") from error
        sync_directory(self._spools)
        sync_directory(self._staging)

    def staged(self) -> set[str]:
        """Return the names of the files that are staged.

        Raises:
            StoreError: the folder can't be read.
        """
        try:
            return {path.name for path in self._staging.glob(f"*{SUFFIX}") if parse_name(path.name)}
        except OSError as error:
            raise StoreError(f"cannot read {self._staging}: {error}") from error

    def unstage(self, name: str) -> None:
        """Remove a staged file.

        Raises:
            StoreError: it stays.
        """
        try:
            (self._staging / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove {self._staging / name}: {error}") from error
