"""The site's policy folder gets other files, all of them at once: whoever looks sees what was there
or what is there now, whole, and so it is after a kill or a power failure at any point.

One file is replaced by its name.  Of several the whole folder is: a new one is made beside it, with
everything else that the old one holds, and both exchange their names.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona.atomic_file import atomic_writer, exchange_names, sync_folder
from oborona.desk.call import CallError
from oborona.desk.policy.file_set import read_folder
from oborona.desk.policy.site_policy import PolicyConflictError
from oborona.errors import StoreError
from oborona.stores.policy_versions.digests import FileSet

FolderWriter = Callable[[Path, FileSet, FileSet], None]
"""Replaces what a policy folder holds, as `replace_files` does."""
_MOVED: Final = "the policy folder was edited meanwhile; nothing was written"


def changed_names(before: FileSet, after: FileSet) -> list[str]:
    """Return the names of files that differ."""
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]


def replace_files(folder: Path, before: FileSet, after: FileSet) -> None:
    """Let a policy folder hold other files.

    Args:
        folder: of the policy; it may be missing, its parent not.
        before: what it holds.
        after: what it is to hold; other things in it stay.

    Raises:
        PolicyConflictError: it holds something else; nothing was written.
        CallError: a file is a link.
        StoreError: it can't be written; what was there stays.
    """
    names = changed_names(before, after)
    folder = folder.resolve()
    fresh = folder.with_name(f".{folder.name}.publishing")
    try:
        shutil.rmtree(fresh, ignore_errors=True)  # what a kill left: the old folder, or half of one
        if read_folder(folder) != before:
            raise PolicyConflictError(_MOVED)
        for name in names:
            if (folder / name).is_symlink():
                raise CallError(f"{folder / name} is a link: edit what it leads to")
        if not folder.exists():
            _make(folder, fresh, after)
        elif len(names) == 1:
            _replace_one(folder, names[0], after.get(names[0]))
        elif names:
            _replace_all(folder, fresh, before, after)
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: {error.strerror or error}") from error


def _replace_one(folder: Path, name: str, raw: bytes | None) -> None:
    path = folder / name
    if raw is None:
        path.unlink()
        sync_folder(folder)
        return
    like = path.stat() if path.exists() else None
    with atomic_writer(path) as file:
        file.write(raw)
        _let_read(file.fileno(), folder, like)


def _make(folder: Path, fresh: Path, after: FileSet) -> None:
    try:
        fresh.mkdir(mode=0o755)
        _write(fresh, folder.parent, after)
        fresh.rename(folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    sync_folder(folder.parent)


def _replace_all(folder: Path, fresh: Path, before: FileSet, after: FileSet) -> None:
    changed = set(changed_names(before, after))
    try:

        def unwanted(where: str, names: list[str]) -> set[str]:
            return changed & set(names) if Path(where) == folder else set()

        shutil.copytree(folder, fresh, symlinks=True, ignore=unwanted, copy_function=_linked)
        _own(fresh, folder.stat())
        _write(fresh, folder, {name: raw for name, raw in after.items() if name in changed})
        exchange_names(fresh, folder)
    except shutil.Error as error:
        shutil.rmtree(fresh, ignore_errors=True)
        file, _, why = error.args[0][0]
        raise StoreError(f"{file}: {why}") from error
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise StoreError(
            f"{error.filename or folder}: {error.strerror}: to publish several files at once, who "
            f"publishes must be able to write {folder.parent}; publish them one by one"
        ) from error
    if read_folder(fresh) != before:  # an editor has saved a file in the last moment
        exchange_names(fresh, folder)
        shutil.rmtree(fresh, ignore_errors=True)
        raise PolicyConflictError(_MOVED)
    sync_folder(folder.parent)
    shutil.rmtree(fresh, ignore_errors=True)


def _write(folder: Path, like: Path, files: FileSet) -> None:
    """Write files into a folder that nobody knows yet."""
    for name, raw in files.items():
        path = folder / name
        with path.open("wb") as file:
            file.write(raw)
            # of a file that is replaced, what it was
            _let_read(file.fileno(), like, (like / name).stat() if (like / name).exists() else None)
            file.flush()
            os.fsync(file.fileno())
    sync_folder(folder)


def _linked(source: str, target: str) -> str:
    """Let a file that stays have its place in the new folder, too; a copy where it may not."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def _let_read(descriptor: int, folder: Path, like: os.stat_result | None) -> None:
    """Let a new file be read by who may read the one it replaces, or else its folder."""
    about = folder.stat()
    mode = 0o644 if about.st_mode & stat.S_IROTH else 0o640
    os.fchmod(descriptor, mode if like is None else stat.S_IMODE(like.st_mode))
    if os.geteuid() == 0:
        os.fchown(descriptor, (like or about).st_uid, (like or about).st_gid)


def _own(path: Path, like: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.chown(path, like.st_uid, like.st_gid)
