"""Whether a data file may be handed to LMDB, which takes what it maps at its word and may end the process over a wrong page.

A file that is written with syncs is sound whatever becomes of the machine. Not so one that was copied while it was
written, nor one written without syncs when the machine went down. So a note beside the data file says which file it is
and, if it is not synced, in which run of the machine it is written. Where the note does not fit, all pages are read and
held against each other before LMDB sees them: a second or two for a million records.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import lmdb.verify
import msgspec

from oborona.counters.lmdb_store import DATA, MODE, Damaged, as_store_error
from oborona.counters.spool import sync_directory

NOTE: Final = "data.known"
BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The data file that this store's writer opened last."""

    device: int
    inode: int
    boot: str  # the run of the machine in which it is written without syncs; empty with syncs


def check(directory: Path, report: Callable[[str], None]) -> None:
    """Read the data file as a whole, unless it is known to be sound; a file that is no LMDB file at all is LMDB's to judge.

    Args:
        directory: the store's; whoever calls holds the writer's lock.
        report: told, in words for an admin, why it takes long.

    Raises:
        Damaged: its pages do not fit together.
        StoreError: it cannot be read.
    """
    path = directory / DATA
    with as_store_error(directory):
        if not path.exists() or not path.stat().st_size or _is_known(directory):
            return
        report(
            f"{path} was copied here, or comes from an older Oborona, or was not synced when the machine went down:"
            " all of it is read first"
        )
        try:
            problems = lmdb.verify.verify(os.fspath(directory))  # type: ignore[no-untyped-call]
        except lmdb.verify.VerifyError:
            return
    if problems:
        raise Damaged(
            f"the counter store in {directory} is damaged: {problems[0]} ({len(problems)} problems)"
        )


def take_note(directory: Path, *, synced: bool) -> None:
    """Note that the data file is sound, and how it is written from now on; with syncs it is on the disk first.

    Raises:
        StoreError: it cannot be synced, or the note not be written.
    """
    path = directory / DATA
    with as_store_error(directory):
        file = path.stat()
        if synced:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        known = Known(device=file.st_dev, inode=file.st_ino, boot="" if synced else _boot())
        unnamed = directory / f"{NOTE}.new"
        descriptor = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE)
        try:
            os.write(descriptor, msgspec.json.encode(known))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        unnamed.rename(directory / NOTE)
    sync_directory(directory)  # before anything is written without syncs


def _is_known(directory: Path) -> bool:
    try:
        known = msgspec.json.decode((directory / NOTE).read_bytes(), type=Known)
    except (FileNotFoundError, msgspec.DecodeError):
        return False
    file = (directory / DATA).stat()
    return (known.device, known.inode) == (file.st_dev, file.st_ino) and known.boot in ("", _boot())


def _boot() -> str:
    return BOOT.read_text().strip()
