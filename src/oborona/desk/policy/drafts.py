"""Drafts: copies of the site's policy folder that people change before anything is published.

    drafts/NAME/draft.json     who owns it, and what it began from
    drafts/NAME/files/FILE     its files

A draft begins under a hidden name and takes its own once it is whole; each file is written whole.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path
from typing import Final

import msgspec

from oborona.atomic_file import write_atomically
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.policy.draft_note import DraftNote
from oborona.desk.policy.file_set import MOST_FILES, MOST_WRITTEN, checked_name, read_folder
from oborona.errors import StoreError
from oborona.stores.policy_versions.digests import FileSet, digest_of_all

MOST_DRAFTS: Final = 50
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_NOTE: Final = "draft.json"
_FILES: Final = "files"
_NOTE_BYTES: Final = 4 << 20


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A draft as it is now."""

    name: str
    note: DraftNote
    files: dict[str, bytes]

    @property
    def digest(self) -> str:
        """The digest of its very text."""
        return digest_of_all(self.files)


class DraftFolder:
    """All drafts of a site; who changes one holds the policy's lock.

    Args:
        folder: of them, in the state folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names of all drafts."""
        try:
            found = sorted(path.name for path in self._folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror}") from error
        return [name for name in found if _NAME.fullmatch(name)]

    def note(self, name: str) -> DraftNote:
        """Return what is known of a draft.

        Raises:
            NotFoundError: there is none of that name.
            StoreError: it is damaged.
        """
        path = self._of(name) / _NOTE
        try:
            with path.open("rb") as file:
                return msgspec.json.decode(file.read(_NOTE_BYTES), type=DraftNote)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise StoreError(f"{path}: is damaged ({error}); drop the draft") from error

    def get(self, name: str) -> Draft:
        """Return a draft with its files.

        Raises:
            NotFoundError: there is none of that name.
            StoreError: it is damaged, or can't be read.
        """
        return Draft(
            name=name,
            note=self.note(name),
            files=read_folder(self.files_folder(name), links=False),
        )

    def files_folder(self, name: str) -> Path:
        """Return the folder of a draft's files.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._of(name) / _FILES

    def trouble(self, name: str) -> str:
        """Return why a draft can't be used; empty where it can.

        Raises:
            NotFoundError: there is none of that name.
        """
        try:
            self.note(name)
        except StoreError as error:
            return str(error)
        return ""

    def begin(self, name: str, note: DraftNote, files: FileSet) -> None:
        """Begin a draft.

        Raises:
            CallError: the name can't be used, is taken, or there are too many drafts.
            StoreError: it can't be written; nothing is left of it.
        """
        path = self._folder / _checked(name)
        if len(self.names()) >= MOST_DRAFTS:
            raise CallError(f"there are {MOST_DRAFTS} drafts: drop those that nobody needs")
        if path.exists() or path.is_symlink():
            raise CallError(f"there is a draft {name} already")
        fresh = self._folder / f".{name}.{os.getpid()}"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            shutil.rmtree(fresh, ignore_errors=True)
            (fresh / _FILES).mkdir(mode=0o700, parents=True)
            for file, raw in files.items():
                (fresh / _FILES / file).write_bytes(raw)
            (fresh / _NOTE).write_bytes(msgspec.json.encode(note))
            fresh.rename(path)
        except OSError as error:
            shutil.rmtree(fresh, ignore_errors=True)
            raise StoreError(f"{path}: {error.strerror}") from error

    def write_note(self, name: str, note: DraftNote) -> None:
        """Write what is known of a draft.

        Raises:
            StoreError: it can't be written; what was there stays.
        """
        write_atomically(self._of(name) / _NOTE, msgspec.json.encode(note))

    def write(self, name: str, file: str, raw: bytes | None) -> None:
        """Write one of its files.

        Args:
            name: of the draft.
            file: name of the file.
            raw: all that is to be in it; None = it goes.

        Raises:
            CallError: the name can't be used, or it is too large.
            StoreError: it can't be written; what was there stays.
        """
        path = self.files_folder(name) / checked_name(file)
        if raw is not None and len(raw) > MOST_WRITTEN:
            raise CallError(f"{file}: is larger than {MOST_WRITTEN >> 20} MiB")
        if (
            raw is not None
            and not path.exists()
            and sum(1 for _ in path.parent.iterdir()) >= MOST_FILES
        ):
            raise CallError(f"more than {MOST_FILES} files")
        self.replace(name, {file: raw})

    def replace(self, name: str, files: dict[str, bytes | None]) -> None:
        """Write files of a draft, whatever their size; None = a file goes.

        Raises:
            StoreError: one can't be written; it stays as it was.
        """
        folder = self.files_folder(name)
        for file, raw in files.items():
            try:
                if raw is None:
                    (folder / file).unlink(missing_ok=True)
                else:
                    write_atomically(folder / file, raw)
            except OSError as error:
                raise StoreError(f"{folder / file}: {error.strerror}") from error

    def drop(self, name: str) -> None:
        """Take a draft away.

        Raises:
            NotFoundError: there is none of that name.
            StoreError: it can't be done.
        """
        path = self._of(name)
        gone = self._folder / f".{name}.gone"
        try:
            shutil.rmtree(gone, ignore_errors=True)
            path.rename(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error

    def _of(self, name: str) -> Path:
        path = self._folder / _checked(name)
        try:
            there = stat.S_ISDIR(path.lstat().st_mode)
        except OSError:
            there = False
        if not there:
            raise NotFoundError(f"there is no draft {name}")
        return path


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise CallError(
            f"{name[:60]!r} is no name of a draft: lower-case letters, digits and -, at most 40"
        )
    return name
