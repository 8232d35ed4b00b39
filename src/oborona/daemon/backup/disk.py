"""Disk operations of backup and restore: the check for room before they begin, and the sync of what
was written before they report success.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from oborona.errors import StoreFull

LEAST_ROOM: Final = 64 << 20  # bytes that stay free: the daemon's disk may be the same


def octets_below(folder: Path) -> int:
    """Return the size of all regular files of a folder; one that goes meanwhile is none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() and not path.is_symlink() else 0
        except FileNotFoundError:
            continue
    return total


def check_room(folder: Path, octets: int) -> None:
    """Refuse what would not fit.

    Raises:
        StoreFull: with how much is needed and free.
    """
    disk = os.statvfs(folder)
    needed, room = octets + LEAST_ROOM, disk.f_bavail * disk.f_frsize
    if room < needed:
        raise StoreFull(f"{folder}: {needed >> 20} MiB are needed, {room >> 20} MiB are free")


def remove(path: Path) -> None:
    """Remove a file, or a folder with all below it; nothing where there is none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Bring a file, or a folder with all below it, to the disk."""
    sync_folder(path)
    if path.is_dir():
        for below in path.rglob("*"):
            if not below.is_symlink() and (below.is_file() or below.is_dir()):
                sync_folder(below)


def sync_folder(path: Path) -> None:
    """Bring one file or the names in one folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
