"""Copies of the policy folders in the state folder, one for each policy that is offered or in
force; what an admin edits meanwhile is not in them.

    policy/files/<SHA-256>            the contents of a file, written once
    policy/<number>-<version>/NAME            → ../files/<SHA-256>: a file of the admin's
    policy/<number>-<version>/shipped/NAME    → ../../files/<SHA-256>: one that ships, and that no
    file of the admin's or the feed's replaces
    policy/<number>-<version>/feed/NAME       → ../../files/<SHA-256>: one of the feed

A file that is as before is neither copied nor, by the workers, read again: its contents have the
same file under them.  Nothing is synced, and what a power failure leaves is not used: at a start
all of it goes, and the policy folders are read anew.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
from pathlib import Path
from typing import Final

from oborona.daemon.publisher.page import number_of, version_of
from oborona.errors import StoreError
from oborona.policy.folders import FEED, SHIPPED, PolicyFolders
from oborona.policy.list_files import MAX_BYTES, Look, file_state

FILES: Final = "files"
COPIED: Final = (".toml", ".list", ".lua")
_NAME: Final = re.compile(r"[0-9a-f]{4}-[0-9a-f]{12}")
_NEW: Final = ".new"


class PolicySnapshots:
    """The copies, as the one who publishes writes them.

    Args:
        folder: for them, in the state folder.
        source: the policy folders.
    """

    def __init__(self, folder: Path, source: Path | PolicyFolders) -> None:
        self._folder = folder
        self._source = PolicyFolders.of(source)
        self._copied: dict[Path, tuple[Look, str]] = {}  # as it looked, its hash

    def begin(self) -> None:
        """Make the folder, and take away what former publishers left.

        Raises:
            StoreError: it can't be done.
        """
        try:
            self._folder.mkdir(mode=0o750, exist_ok=True)
            (self._folder / FILES).mkdir(mode=0o750, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror}") from error
        self.keep(frozenset())

    def take(self, word: int, *, force: bool = False) -> None:
        """Copy the policy folders as they are now.

        Args:
            word: the name of the copy.
            force: read files even if they look as before.

        Raises:
            StoreError: it can't be read or written; nothing is left under the name.

        Whether a file changed meanwhile is for the caller to see; the version of what is loaded
        from the copy says so, too.
        """
        fresh = self._folder / _NEW
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(mode=0o750)
            copy = self._source.copied(fresh)
            for folder in filter(None, (copy.shipped, copy.feed)):
                folder.mkdir(mode=0o750)
            for path in self._source.files(*COPIED):
                digest = self._copy(path, force=force)
                if not digest:
                    continue
                target = copy.original(path, self._source)
                up = "../" if target.parent == fresh else "../../"
                target.symlink_to(f"{up}{FILES}/{digest}")
            fresh.rename(snapshot_folder(self._folder, word))
        except OSError as error:
            shutil.rmtree(fresh, ignore_errors=True)
            raise StoreError(f"{error.filename or self._folder}: {error.strerror}") from error

    def alike(self, left: int, right: int) -> bool:
        """Tell whether two copies hold the same files."""
        return _links(snapshot_folder(self._folder, left)) == _links(
            snapshot_folder(self._folder, right)
        )

    def keep(self, words: frozenset[int]) -> None:
        """Take away all copies but these, and contents that none of them has.

        What is not ours, or can't be removed, stays.
        """
        used: set[str] = set()
        named = {snapshot_folder(self._folder, word).name for word in words}
        for path in _list_folder(self._folder):
            if not _NAME.fullmatch(path.name) and path.name != _NEW:
                continue
            if path.name in named:
                used.update(_links(path).values())
            elif path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
        for path in _list_folder(self._folder / FILES):
            if path.name not in used and re.fullmatch(r"\.?[0-9a-f]{64}", path.name):
                path.unlink(missing_ok=True)
        self._copied = {
            file: (state, digest)
            for file, (state, digest) in self._copied.items()
            if digest in used
        }

    def _copy(self, path: Path, *, force: bool) -> str:
        """Return the hash under which the contents of a file lie.

        Empty for what no policy can use.
        """
        state = file_state(path)
        copied = self._copied.get(path)
        if copied is not None and copied[0] == state and not force:
            return copied[1]
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return ""  # no policy names it, or it would have been refused
        raw = path.read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        content = self._folder / FILES / digest
        if not content.exists():
            fresh = content.with_name(f".{digest}")
            fresh.write_bytes(raw)
            fresh.replace(content)
        self._copied[path] = state, digest
        return digest


def snapshot_folder(folder: Path, word: int) -> Path:
    """Return the folder of a copy."""
    return folder / f"{number_of(word):04x}-{version_of(word)}"


def _links(copy: Path) -> dict[str, str]:
    """Return the files of a copy, by their paths in it, with the hashes of their contents."""
    folders = (copy, copy / SHIPPED, copy / FEED)
    links = [link for folder in folders for link in _list_folder(folder)]
    return {
        str(link.relative_to(copy)): link.readlink().name for link in links if link.is_symlink()
    }


def _list_folder(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
