"""Whether a data file may be handed to LMDB, which takes what it maps at its word and may end the
process over a wrong page.

A file that is written with syncs is sound whatever becomes of the machine. Not so one that was
copied while it was written, nor one written without syncs when the machine went down, nor one of
which a disk gave a page back wrong. So a note beside the data file says which file it is, if it is
not synced, in which run of the machine it is written, and how many writers in a row ended soon
after they had opened it. Where the note does not fit, after an error, and after two such writers,
all pages are read and held against each other before LMDB sees them: a second or two for a million
records.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import lmdb.verify
import msgspec

from oborona import state_files
from oborona.counters.lmdb_store import MODE, DamagedStore, as_store_error
from oborona.counters.spool import sync_directory

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
UNKNOWN: Final = "unknown"  # which run this is; as good as another one
RUN_S: Final = 60.0  # a writer that still writes then did not fail over the file
FAILURES: Final = 2  # in a row; one may be chance: a kill, a machine that went down


class KnownDataFile(msgspec.Struct, frozen=True, kw_only=True):
    """The data file that this store's writer opened last."""

    device: int
    inode: int
    boot: str  # the run of the machine in which it is written without syncs; empty with syncs
    # openings in a row, the running one included, neither closed in order nor written to for RUN_S
    failures: int = 0


def check(directory: Path, report: Callable[[str], None]) -> int:
    """Read the data file as a whole, unless it is known to be sound.

    A file that is no LMDB file at all is LMDB's to judge.

    Args:
        directory: the store's; whoever calls holds the writer's lock.
        report: told, in words for an admin, why it takes long, and that a file was emptied.

    Returns:
        How many openings in a row have failed, to be given to `mark_sound`.

    Raises:
        Damaged: its pages do not fit together.
        StoreError: it cannot be read.
    """
    path = directory / state_files.COUNTERS_DATA
    with as_store_error(directory):
        if not path.exists():
            return 0
        recorded = _read_note(directory)
        if not path.stat().st_size:
            if recorded is not None:
                report(f"{path} is empty, and was not: a new store is begun")
            return 0
        if recorded is not None and recorded.boot and _boot() == UNKNOWN:
            why = (
                f"is written without syncs, and {BOOT} can't be read, which tells whether the "
                f"machine went down"
            )
        elif recorded is None or (recorded.boot and recorded.boot != _boot()):
            why = (
                "was copied here, or comes from an older Oborona, or was not synced when the "
                "machine went down"
            )
        elif recorded.failures >= FAILURES:
            why = (
                "came to an error when it was last used, or its last two writers ended "
                "soon and not in order"
            )
        else:
            return recorded.failures
        report(f"{path} {why}: all of it is read first")
        try:
            problems = lmdb.verify.verify(os.fspath(directory))  # type: ignore[no-untyped-call]
        except lmdb.verify.VerifyError:
            problems = []
    if problems:
        raise DamagedStore(
            f"the counter store in {directory} is damaged: {problems[0]} ({len(problems)} problems)"
        )
    return recorded.failures if recorded is not None else 0


def has_data_file(directory: Path) -> bool:
    """Whether there was ever a data file in a store."""
    return (directory / state_files.COUNTERS_NOTE).exists()


def mark_sound(directory: Path, *, synced: bool, failures: int) -> None:
    """Note that the data file is sound, and how it is written from now on.

    With syncs it is on the disk first.

    Args:
        directory: the store's; whoever calls holds the writer's lock.
        synced: whether a transaction is on the disk when it ends.
        failures: openings in a row that have failed, should this one do so too.

    Raises:
        StoreError: it cannot be synced, or the note not be written.
    """
    path = directory / state_files.COUNTERS_DATA
    with as_store_error(directory):
        file = path.stat()
        if synced:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        boot = "" if synced else _boot()
    _write(
        directory,
        KnownDataFile(device=file.st_dev, inode=file.st_ino, boot=boot, failures=failures),
    )


def distrust(directory: Path) -> None:
    """Note that the data file is to be read as a whole at its next opening, for reading it came to
    an error.

    Raises:
        StoreError: the note cannot be written.
    """
    with as_store_error(directory):
        recorded = (
            _read_note(directory) if (directory / state_files.COUNTERS_DATA).exists() else None
        )
    if recorded is not None:
        _write(directory, msgspec.structs.replace(recorded, failures=FAILURES))


def _write(directory: Path, recorded: KnownDataFile) -> None:
    with as_store_error(directory):
        unnamed = directory / f"{state_files.COUNTERS_NOTE}.new"
        descriptor = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE)
        try:
            os.write(descriptor, msgspec.json.encode(recorded))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        unnamed.rename(directory / state_files.COUNTERS_NOTE)
    sync_directory(directory)  # before anything is written without syncs


def _read_note(directory: Path) -> KnownDataFile | None:
    """Return the note on the data file that is there, None if it is on another.

    Failures before a minute's work are none.
    """
    note, data = (
        directory / state_files.COUNTERS_NOTE,
        (directory / state_files.COUNTERS_DATA).stat(),
    )
    try:
        recorded = msgspec.json.decode(note.read_bytes(), type=KnownDataFile)
        taken_at = note.stat().st_mtime
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if (recorded.device, recorded.inode) != (data.st_dev, data.st_ino):
        return None
    ran = data.st_mtime - taken_at >= RUN_S
    return msgspec.structs.replace(recorded, failures=0) if ran else recorded


def _boot() -> str:
    """Return which run of the machine this is; a service manager may hide it (ProcSubset=pid)."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return UNKNOWN
