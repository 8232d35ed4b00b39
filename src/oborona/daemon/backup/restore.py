"""A backup put back: checked as a whole first, then settings, then the state, with a mark in the
state folder from the first file to the last.

    checksums → versions → nobody runs → nothing is there, or it is set aside → mark → files → mark
    away

Nothing is written over: settings that lie where others are put back are kept beside them, as
NAME.before-restore-STAMP, and a state in a folder of that name within. Killed anywhere, it leaves
the mark; a daemon does not start on it, and the same restore goes on from the beginning.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.counters.lmdb_store import VERSION as COUNTERS_VERSION
from oborona.counters.spool import NO_ROOM
from oborona.daemon.backup.disk import check_room, octets_below, remove, sync, sync_folder
from oborona.daemon.backup.manifest import (
    SETTINGS,
    STATE,
    BackupManifest,
    file_digest,
    read_manifest,
)
from oborona.daemon.state import OPTIONAL
from oborona.daemon.stopped_state import hold_stopped
from oborona.errors import StoreError, StoreForeign, StoreFull, StoreVersion
from oborona.journal import schema as journal

KNOWN: Final[Mapping[str, int]] = {
    state_files.JOURNAL: journal.VERSION,
    f"{state_files.COUNTERS}/{state_files.COUNTERS_DATA}": COUNTERS_VERSION,
    **{store.file: len(store.shared.format.migrations) for store in OPTIONAL},
}
"""Stores, each with the newest version of its format that this program reads."""


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore did."""

    manifest: BackupManifest
    state: Path
    aside: tuple[Path, ...]  # what was there before, under its new names
    unowned: bool  # the state's user is not known here: it belongs to who asked


def restore_backup(source: Path, *, state: Path | None, force: bool) -> RestoreResult:
    """Put a backup back.

    Args:
        source: the backup.
        state: where its state goes; None = where it was. With a folder given settings stay as they
            are.
        force: set a state aside that is there.

    Raises:
        StoreBusy: a daemon runs on the state.
        StoreVersion: a newer Oborona made the backup.
        StoreForeign: there is a state already.
        StoreFull: there is no room; nothing was changed.
        StoreError: it is no backup, damaged, or something can't be written.
    """
    manifest = read_manifest(source)
    _check_versions(source, manifest)
    where = state or Path(manifest.state)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside: list[Path] = []
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as locks:
            hold_stopped(where, "oborona restore", locks)
            unfinished = (where / state_files.RESTORING).exists()
            if _holds_anything(where) and not (force or unfinished):
                raise StoreForeign(
                    f"{where} holds a state already; --force sets it aside, in a folder there"
                )
            check_room(where, octets_below(source))
            _put_mark(where, source)
            if state is None:
                aside += _put_settings(source, manifest, stamp)
            aside += _clear(where, stamp, keep=not unfinished)
            owner = _numbers(manifest.owner, manifest.group)
            _copy_state(source / STATE, where, owner)
        sync(where)
        (where / state_files.RESTORING).unlink()
        sync_folder(where)
    except OSError as error:
        kind = StoreFull if error.errno in NO_ROOM else StoreError
        raise kind(f"{error.filename or where}: {error.strerror or error}") from error
    return RestoreResult(
        manifest=manifest,
        state=where,
        aside=tuple(aside),
        unowned=owner is None and os.geteuid() == 0,
    )


def _check_versions(source: Path, manifest: BackupManifest) -> None:
    for name, version in manifest.stores.items():
        known_version = KNOWN.get(name)
        if known_version is None or version > known_version:
            raise StoreVersion(
                f"{source}: {name} is of version {version}, this Oborona ({manifest.oborona} made "
                f"it) knows {known_version or 'no such store'}:"
                " install the newer one first"
            )


def _holds_anything(state: Path) -> bool:
    return any(True for _ in _state_paths(state))


def _state_paths(state: Path) -> Iterator[Path]:
    """Yield what a state is made of.

    What earlier restores set aside is none of it, nor are locks, sockets and empty folders.
    """
    for path in sorted(state.iterdir()):
        if (
            path.name == state_files.RESTORING
            or path.name.startswith(state_files.BEFORE_RESTORE)
            or path.name.endswith(".lock")
            or path.is_socket()
        ):
            continue
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            continue
        yield path


def _clear(state: Path, stamp: str, *, keep: bool) -> list[Path]:
    """Set aside what is there; what an unfinished restore put there goes."""
    paths = list(_state_paths(state))
    aside = state / f"{state_files.BEFORE_RESTORE}{stamp}"
    if paths and keep:
        aside.mkdir(mode=0o700)
    for path in paths:
        if keep:
            path.rename(aside / path.name)
        else:
            remove(path)
    return [aside] if paths and keep else []


def _put_mark(state: Path, source: Path) -> None:
    """Leave the mark, for the daemon's user to read.

    Its folder is that user's, whose links are not followed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(state / state_files.RESTORING, flags, 0o644), "w") as mark:
        os.fchmod(mark.fileno(), 0o644)
        mark.write(f"{source.absolute()}\n")
        mark.flush()
        os.fsync(mark.fileno())
    sync_folder(state)


def _put_settings(source: Path, manifest: BackupManifest, stamp: str) -> list[Path]:
    aside = []
    for name, place in manifest.places.items():
        copy, path = source / SETTINGS / name, Path(place.path)
        if path.exists() and not _same(copy, path):
            aside.append(path.rename(path.with_name(f"{path.name}.before-restore-{stamp}")))
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f".{path.name}.restoring")
            remove(fresh)  # of one that was killed
            _copy(copy, fresh, _numbers(place.owner, place.group), folder=0o755, file=place.mode)
            sync(fresh)
            fresh.rename(path)
            sync_folder(path.parent)
    return aside


def _same(left: Path, right: Path) -> bool:
    if left.is_dir() != right.is_dir():
        return False
    if not left.is_dir():
        return file_digest(left) == file_digest(right)
    names = {path.name for path in left.iterdir()}
    return names == {path.name for path in right.iterdir()} and all(
        _same(left / name, right / name) for name in names
    )


def _copy_state(source: Path, state: Path, owner: tuple[int, int] | None) -> None:
    if owner is not None:
        os.chown(state, *owner)
    for path in sorted(source.iterdir()):
        if (state / path.name).is_dir():  # an empty one, of the daemon's
            (state / path.name).rmdir()
        _copy(path, state / path.name, owner, folder=0o700, file=0o600)


def _copy(
    source: Path, target: Path, owner: tuple[int, int] | None, *, folder: int, file: int
) -> None:
    """Make a copy, and give it away last, by its descriptor: what its name leads to may be
    another's doing by then.
    """
    if source.is_dir():
        target.mkdir(mode=0o700)
        for path in sorted(source.iterdir()):
            _copy(path, target / path.name, owner, folder=folder, file=file)
        descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    else:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if not source.is_dir():
            with source.open("rb") as original, os.fdopen(descriptor, "wb", closefd=False) as copy:
                shutil.copyfileobj(original, copy)
        os.fchmod(descriptor, folder if source.is_dir() else file)
        if owner is not None:
            os.fchown(descriptor, *owner)
    finally:
        os.close(descriptor)


def _numbers(user: str, group: str) -> tuple[int, int] | None:
    """Return ids to give files to.

    None = leave them to who asks, who is not root or knows no such user.
    """
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(user).pw_uid, grp.getgrnam(group).gr_gid
    except KeyError:
        return None
