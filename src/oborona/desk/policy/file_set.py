"""The files of one policy folder, read at once: names and octets, bounded."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from oborona.desk.call import CallError
from oborona.errors import StoreError

SUFFIXES: Final = (".toml", ".lua", ".list")
OVERLAY: Final = "90-console.toml"
"""The file that the desk may write where it may write one alone."""
MOST_FILES: Final = 300
MOST_OCTETS: Final = 64 << 20  # of all files; more belong into a list that the site keeps elsewhere
MOST_WRITTEN: Final = 4 << 20  # of a file that comes from a caller: as large as TOML is read
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,95}\.(?:toml|lua|list)")


def checked_name(name: str) -> str:
    """Return the name of a file that is to be written.

    Raises:
        CallError: it is none of a policy file in the folder itself.
    """
    if not _NAME.fullmatch(name):
        raise CallError(
            f"{name[:100]!r} is no name of a policy file: letters, digits and . _ + -, ending in "
            f".toml, .lua or .list"
        )
    return name


def read_folder(folder: Path, *, links: bool = True) -> dict[str, bytes]:
    """Return the policy files of a folder, by name; none where there is no folder.

    Args:
        folder: of them.
        links: follow those that are links, as the daemon does with an admin's; False: refuse them.

    Raises:
        StoreError: one can't be read, is no plain file, or they are too many or too large.
    """
    try:
        names = sorted(path.name for path in folder.iterdir() if is_policy_file(path.name))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error
    if len(names) > MOST_FILES:
        raise StoreError(f"{folder}: holds {len(names)} policy files; at most {MOST_FILES}")
    files, room = dict[str, bytes](), MOST_OCTETS
    for name in names:
        files[name] = read_plain(folder / name, room, links=links)
        room -= len(files[name])
    return files


def is_policy_file(name: str) -> bool:
    """Tell whether a policy folder's file of this name is read."""
    return name[0] != "." and name.endswith(SUFFIXES)


def read_plain(path: Path, most: int, *, links: bool) -> bytes:
    """Return what is in a plain file.

    Raises:
        StoreError: it is none, is larger, or can't be read.
    """
    if not path.name.isprintable():
        raise StoreError(f"{path.parent}: holds a name that can't be shown: {path.name!a}")
    try:
        # a pipe would wait for its writer
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW))
        with os.fdopen(opened, "rb") as file:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                raise StoreError(f"{path}: is not a plain file")
            raw = file.read(most + 1) if status.st_size <= most else b" " * (most + 1)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    if len(raw) > most:
        raise StoreError(f"{path}: policy files of more than {MOST_OCTETS >> 20} MiB altogether")
    return raw
