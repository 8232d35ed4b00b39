"""A file that is written whole: nobody ever sees a part of it, and it survives the power going."""

from __future__ import annotations

import os
from pathlib import Path

from oborona.errors import StoreError


def write_whole(path: Path, octets: bytes) -> None:
    """Write a file; what was there before stays until all of it is on the disk.

    Args:
        path: of the file; its folder exists.
        octets: all of it.

    Raises:
        StoreError: it can't be written; what was there stays.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with fresh.open("wb") as file:
                file.write(octets)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
