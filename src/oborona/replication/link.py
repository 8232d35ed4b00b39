"""Which log a state folder follows, and under what name: `site.json`.

It is beside the stores, for whoever opens one must know that it is common, whatever settings he
was given.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.errors import StoreError

FIRST: Final = (
    state_files.PERSONS,
    state_files.PINS,
    state_files.SIGNATURES,
    state_files.CASES,
    state_files.PEOPLE,
    state_files.POLICY_VERSIONS,
)
"""Stores that each site has in common, also one that was begun before links said which they are."""

COMMON: Final = (
    *FIRST,
    state_files.SITE_MODELS,
    state_files.EVENTS,
    state_files.FEEDBACK,
    state_files.ACCOUNTS,
    state_files.SITE_MOVES,
)
"""Stores that several machines have in common, in the order in which they are taken over."""


class ReplicationLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a machine knows of the log."""

    address: str  # of PostgreSQL: postgresql://… or name=value …, as libpq reads it
    site: str  # mark of the log, made when it was begun
    machine: str  # this one's name in it
    mark: str  # of this state folder, which alone has the name
    hosts: tuple[str, ...] = ()  # that the address leads to, socket folders apart
    stores: tuple[str, ...] = FIRST  # that the site has in common


def link_path(state: Path) -> Path:
    """Return where the link of a state folder is."""
    return state / state_files.SITE_LINK


def read_link(state: Path) -> ReplicationLink | None:
    """Return the log that a state folder follows; None = its stores are its own.

    Raises:
        StoreError: the link can't be read, or is none: nobody knows whether they are.
    """
    path = link_path(state)
    try:
        status = os.stat(path)  # noqa: PTH116 - for each store that is opened
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    return _read(path, status.st_ino, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, _inode: int, _time: int, _size: int) -> ReplicationLink:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReplicationLink)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{path}: does not say which log this machine follows ({error}); "
            "`oborona site join` writes it anew"
        ) from error
