"""A backup, taken while the daemon runs: settings and policy, the secret, and all stores as they
were at one moment.

    is there room? → TARGET.unfinished → plain files → all SQLite files, the counters and the
    journal's spool fixed at one moment → each copied → checksums → the disk → TARGET

The spool is copied while nobody can write the journal, so that it has what was acknowledged and is
not in the journal's copy; who starts on the copy takes it over, once.
What a daemon makes anew when it starts stays out: locks, sockets, the policy in force, the index
from pieces to messages. Killed anywhere, it leaves TARGET.unfinished, which the next one takes
away.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from oborona import __version__, secret, state_files
from oborona.config import LoadedSettings
from oborona.counters.snapshot import StoreSnapshot
from oborona.counters.spool import NO_ROOM, parse_name
from oborona.daemon.backup.disk import check_room, octets_below, remove, sync, sync_folder
from oborona.daemon.backup.manifest import SETTINGS, STATE, BackupManifest, BackupPlace, seal_backup
from oborona.daemon.backup.sqlite_snapshot import SqliteSnapshot
from oborona.errors import StoreError, StoreFull
from oborona.feedback.weights_file import WeightsFile
from oborona.lock import hold

UNFINISHED: Final = ".unfinished"
WORKING: Final = "lock"  # in the unfinished one: who writes it
MADE_ANEW: Final = frozenset(
    {
        state_files.POLICY_IN_FORCE,
        state_files.STATUS,
        state_files.INDEX,
        state_files.SEARCH,
        state_files.COUNTERS,
        state_files.JOURNAL_SPOOL,
        state_files.RESTORING,
        state_files.SET_APART,
        state_files.FINAL_WORK,
        state_files.FLOWS_STAGED,
        state_files.EXCESSES,
        state_files.COMPLAINTS_HEARD,
        state_files.ACCOUNTS_WAITING,
        state_files.QUEUE_DUE,
        state_files.QUEUE_HELD,
        state_files.HELD_LAST,
        state_files.HELD_TOLD,
        state_files.SENDERS_TOLD,
    }
    # counters and spool are copied by themselves; messages that were set apart are tried again
    # where a backup is restored; staged flows may be in the spool by now, and count once;
    # excesses may be incidents by now, and limits on complaints were tried up to some other label;
    # a queue is another one where a backup is restored
)
NOT_OURS: Final = (".lock", "-wal", "-shm", "-journal", ".new", ".suspect")
DATABASE: Final = ".db"
SET_ASIDE: Final = (".damaged-", ".foreign-")  # for people to look at
MOST_SETTING: Final = (
    16 << 20
)  # bytes of a file that a setting names: keys and tokens, not databases of places
WEIGHTS_TRIES: Final = 5  # they are taught in place, and their header may be caught half written


def create_backup(
    loaded: LoadedSettings, target: Path, as_owner: Callable[[], AbstractContextManager[None]]
) -> BackupManifest:
    """Write a backup.

    Args:
        loaded: the settings; the state folder is theirs.
        target: folder to be made; it must not be there yet.
        as_owner: what is opened within is opened as the owner of the state folder: LMDB and SQLite
            make files of their own beside the stores.

    Returns:
        What was written.

    Raises:
        StoreBusy: another backup writes there, or a store can't be had for a moment.
        StoreForeign: the secret is not the one of the stores.
        StoreFull: there is no room; nothing is left.
        StoreError: something can't be read or written, or `target` is there.
    """
    state = Path(loaded.settings.paths.state)
    secret.load(state)  # a state without its secret is worth nothing
    if target.exists() or target.is_symlink():
        raise StoreError(f"{target} is there already: a backup is written over nothing")
    fresh = target.with_name(target.name + UNFINISHED)
    try:
        # databases and counters are copied without their free pages: less than this
        check_room(
            target.parent, octets_below(state) + octets_below(Path(loaded.settings.paths.policy))
        )
        _make_ours(fresh)
        with hold(fresh / WORKING, "oborona backup"):
            for old in fresh.iterdir():  # of one that was killed
                if old.name != WORKING:
                    remove(old)
            try:
                manifest = _write(loaded, state, fresh, as_owner)
                (fresh / WORKING).unlink()
                seal_backup(fresh, manifest)
                sync(fresh)
                fresh.rename(target)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise
            sync_folder(target.parent)
    except OSError as error:
        kind = StoreFull if error.errno in NO_ROOM else StoreError
        raise kind(f"{error.filename or target}: {error.strerror or error}") from error
    return manifest


def _make_ours(fresh: Path) -> None:
    """Make the folder that is written to, or take the one of a backup that was killed.

    What others put there is left alone.
    """
    with suppress(FileExistsError):
        fresh.mkdir(mode=0o700)
    status = fresh.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise StoreError(f"{fresh} is there, and is no unfinished backup of yours: take it away")


def _write(
    loaded: LoadedSettings,
    state: Path,
    fresh: Path,
    as_owner: Callable[[], AbstractContextManager[None]],
) -> BackupManifest:
    places = _copy_settings(loaded, state, fresh / SETTINGS)
    (fresh / STATE).mkdir(mode=0o700)
    (fresh / STATE / state_files.COUNTERS).mkdir(mode=0o700)
    _copy_plain(state, fresh / STATE)
    databases = sorted(path for path in state.iterdir() if path.suffix == DATABASE)
    with closing(SqliteSnapshot(databases)) as cut, ExitStack() as opened:
        try:
            with as_owner():
                cut.begin()
                counters = opened.enter_context(
                    closing(StoreSnapshot(state / state_files.COUNTERS))
                )
            _copy_spool(
                state / state_files.JOURNAL_SPOOL, fresh / STATE / state_files.JOURNAL_SPOOL
            )  # after the counters: what is counted is journaled
        finally:
            cut.go_on()
        stores = {}
        for path in databases:
            cut.copy(path, fresh / STATE / path.name)
            stores[path.name] = cut.version(path)
        counters.copy(fresh / STATE / state_files.COUNTERS)
        if counters.version:
            stores[f"{state_files.COUNTERS}/{state_files.COUNTERS_DATA}"] = counters.version
    owner = state.stat()
    return BackupManifest(
        oborona=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        host=socket.gethostname(),
        state=os.fspath(state.absolute()),
        owner=_user(owner.st_uid),
        group=_group(owner.st_gid),
        places=places,
        stores=stores,
        cluster=loaded.settings.counters.store == "cluster",
    )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # an id without a name
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _copy_settings(loaded: LoadedSettings, state: Path, target: Path) -> dict[str, BackupPlace]:
    """Copy what an admin wrote; return where each lies.

    Settings that ship with the program are none.
    """
    target.mkdir(mode=0o700)
    places: dict[str, BackupPlace] = {}
    file, policy = loaded.file, Path(loaded.settings.paths.policy)
    own = [
        path for path in (file, policy) if path is not None and not _ships(path) and path.exists()
    ]
    for path in (*own, *_named_files(loaded)):
        name = path.name if path.name not in places else f"{len(places)}-{path.name}"
        status = path.stat()
        places[name] = BackupPlace(
            path=os.fspath(path.absolute()),
            mode=0o644 if path.is_dir() else status.st_mode & 0o777,
            owner=_user(status.st_uid),
            group=_group(status.st_gid),
        )
        if path.is_dir():
            _copy_folder(path, target / name, state)
        else:
            _copy_file(path, target / name)
    return places


def _ships(path: Path) -> bool:
    return path.resolve().is_relative_to(Path(secret.__file__).resolve().parent)


def _named_files(loaded: LoadedSettings) -> Iterator[Path]:
    """Yield the files that settings name: keys, passwords, tokens."""
    for section in msgspec.structs.asdict(loaded.settings).values():
        yield from _setting_files(section)


def _setting_files(section: msgspec.Struct) -> Iterator[Path]:
    for field, value in msgspec.structs.asdict(section).items():
        if isinstance(value, msgspec.Struct):
            yield from _setting_files(value)
        elif field.endswith("_file") and isinstance(value, str) and value:
            path = Path(value)
            if path.is_absolute() and path.is_file() and path.stat().st_size <= MOST_SETTING:
                yield path


def _copy_plain(state: Path, target: Path) -> None:
    """Copy what is neither a database nor made anew: the secret and its note, weights, models."""
    for path in sorted(state.iterdir()):
        if (
            path.name in MADE_ANEW
            or any(word in path.name for word in SET_ASIDE)
            or path.suffix == DATABASE
            or path.name.startswith((".", state_files.BEFORE_RESTORE))
            or path.name.endswith(NOT_OURS)
        ):
            continue
        if path.name == state_files.WEIGHTS:
            _copy_weights(path, target / path.name)
        elif path.is_dir() and not path.is_symlink():
            _copy_tree(path, target / path.name)
        elif path.is_file() and not path.is_symlink():
            _copy_file(path, target / path.name, os.O_NOFOLLOW)
    note = state / state_files.COUNTERS / state_files.SECRET_NOTE
    if note.exists():
        _copy_file(note, target / state_files.COUNTERS / note.name, os.O_NOFOLLOW)


def _copy_spool(source: Path, target: Path) -> None:
    """Copy what the journal does not have yet.

    A file that goes meanwhile is of what it has, or had nothing in it.
    """
    if not source.is_dir() or source.is_symlink():
        return
    target.mkdir(mode=0o700)
    for path in sorted(source.iterdir()):
        if parse_name(path.name) is not None and path.is_file() and not path.is_symlink():
            with suppress(FileNotFoundError):
                _copy_file(path, target / path.name, os.O_NOFOLLOW)


def _copy_weights(path: Path, target: Path) -> None:
    for attempt in range(WEIGHTS_TRIES):
        _copy_file(path, target, os.O_NOFOLLOW)
        try:
            WeightsFile(target)
        except StoreError:
            if attempt + 1 == WEIGHTS_TRIES:
                raise
            target.unlink()
            time.sleep(0.01)
        else:
            return


def _copy_folder(source: Path, target: Path, state: Path) -> None:
    """Copy a folder of the admin's, without the state, should it lie within.

    Files that he linked into it are in it.
    """
    target.mkdir(mode=0o700)
    for path in sorted(source.iterdir()):
        if path.is_file():
            _copy_file(path, target / path.name)
        elif path.is_dir() and not path.is_symlink() and path != state:
            _copy_folder(path, target / path.name, state)


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a folder of the daemon's, whose links are nobody's: root may read what its user may
    not.
    """
    target.mkdir(mode=0o700)
    for path in sorted(source.iterdir()):
        if path.name.startswith("."):  # being written
            continue
        if path.is_dir() and not path.is_symlink():
            _copy_tree(path, target / path.name)
        elif path.is_file() and not path.is_symlink():
            _copy_file(path, target / path.name, os.O_NOFOLLOW)


def _copy_file(source: Path, target: Path, links: int = 0) -> None:
    read = os.open(source, os.O_RDONLY | os.O_CLOEXEC | links)
    with os.fdopen(read, "rb") as file:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(file, copy)
