"""A file that is written whole: nobody ever sees a part of it, and it survives the power going.

And whether a file that is open is still the one of its name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from oborona.errors import StoreError

_HERE: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE


@contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes its name once all of it is on the disk.

    What was there before stays until then.

    Args:
        path: of the file; its folder exists.

    Raises:
        StoreError: it can't be written; what was there stays.
    """
    # a thread's own: the number of a process is that of its first thread
    fresh = path.with_name(f".{path.name}.{threading.get_native_id()}")
    try:
        try:
            with fresh.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def write_atomically(path: Path, octets: bytes) -> None:
    """Write a file; what was there before stays until all of it is on the disk.

    Args:
        path: of the file; its folder exists.
        octets: all of it.

    Raises:
        StoreError: it can't be written; what was there stays.
    """
    with atomic_writer(path) as file:
        file.write(octets)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk.

    Raises:
        OSError: it can't be done.
    """
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def exchange_names(left: Path, right: Path) -> None:
    """Give each of two files or folders the other's name, at once: nobody ever sees one of them
    missing.

    Raises:
        OSError: it can't be done here; both are as before.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(left))
    if rename(_HERE, os.fsencode(left), _HERE, os.fsencode(right), _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(left))


class OpenFileCheck:
    """Tells whether a file that was opened just now is still the one of its name: 2 µs.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = self._now()

    def in_place(self) -> bool:
        """Whether it is; False where it was taken away or another one was put in its place."""
        return self._now() == self._known

    def _now(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino
