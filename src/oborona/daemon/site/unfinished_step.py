"""What a begin, join or leave of a site has come to, while it has not come to its end: so that the
same command, said again, goes on instead of beginning anew or being refused.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from oborona import state_files
from oborona.atomic_file import sync_folder, write_atomically
from oborona.errors import StoreError
from oborona.replication.link import ReplicationLink

_MODE = 0o640


class UnfinishedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A begin, join or leave that is under way, or was ended in the middle."""

    act: str  # begin, join or leave
    link: ReplicationLink  # that it makes, or takes away
    done: tuple[str, ...] = ()  # stores that need not be done again


def read_unfinished(state: Path) -> UnfinishedStep | None:
    """Return what was not brought to its end; None where nothing was, or nobody can read it."""
    try:
        octets = (state / state_files.SITE_UNFINISHED).read_bytes()
        return msgspec.json.decode(octets, type=UnfinishedStep)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    except OSError as error:
        raise StoreError(f"{state / state_files.SITE_UNFINISHED}: {error.strerror}") from error


def write_unfinished(state: Path, step: UnfinishedStep) -> None:
    """Write down how far it is.

    Raises:
        StoreError: it can't be written.
    """
    path = state / state_files.SITE_UNFINISHED
    try:
        write_atomically(path, msgspec.json.encode(step) + b"\n")
        path.chmod(_MODE)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def note_finished(state: Path) -> None:
    """Write down that it has come to its end."""
    (state / state_files.SITE_UNFINISHED).unlink(missing_ok=True)
    sync_folder(state)
