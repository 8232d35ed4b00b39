"""Which files of a site's policy folder are copies of files that ship, or shipped once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from oborona.errors import PolicyError
from oborona.policy.folders import PolicyFolders
from oborona.policy.shipped_files import MANIFEST, FileVersion, digest, read

SUFFIXES = (".toml", ".list", ".lua")


class CopyState(Enum):
    """What became of a copy."""

    UNCHANGED = "unchanged"
    CHANGED = "changed by hand"


class PolicyCopy(NamedTuple):
    """A file with the name of one that ships, or once shipped."""

    path: Path
    copy: CopyState
    raw: bytes
    versions: tuple[FileVersion, ...]  # that ever shipped under this name


def versions(folders: PolicyFolders) -> Sequence[FileVersion]:
    """Return all versions of files that ever shipped, as the folder that ships tells them.

    Raises:
        PolicyError: it tells none.
    """
    if folders.shipped is None:
        raise PolicyError("no policy that ships is read: paths.shipped_policy says so")
    return read(folders.shipped / MANIFEST)


def copies(folders: PolicyFolders) -> Iterator[PolicyCopy]:
    """Yield the copies in the site's folder, in the order of their names.

    Raises:
        PolicyError: a folder or file can't be read.
    """
    if folders.own is None or not folders.is_own_there():
        return
    shipped_versions = versions(folders)
    for path in PolicyFolders(own=folders.own).files(*SUFFIXES, ".tsv"):
        of = tuple(version for version in shipped_versions if version.name == path.name)
        if path.name == MANIFEST:
            yield PolicyCopy(path, CopyState.UNCHANGED, octets(path), ())
        elif of:
            raw = octets(path)
            unchanged = digest(raw) in {version.digest for version in of}
            yield PolicyCopy(path, CopyState.UNCHANGED if unchanged else CopyState.CHANGED, raw, of)


def octets(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        PolicyError: it can't be read.
    """
    try:
        if not path.is_file():
            raise PolicyError("is not a plain file", file=str(path))
        return path.read_bytes()
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
