"""Snapshots of the weights: training resumes from them after a crash, and an admin can roll back to
them.

The last `NEWEST` are kept, and the last of each day before that, `DAYS` of them; so there are never
more than `NEWEST + DAYS`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import StoreError
from oborona.feedback.training_store import WeightsSnapshot
from oborona.feedback.weights_file import UnpackedSnapshot, pack_snapshot, unpack_snapshot

NEWEST: Final = 8
DAYS: Final = 14
DAY_S: Final = 86_400
LEVEL: Final = 1  # of zlib: most weights of a young model are zero
MOST_BYTES: Final = 1 << 28  # that a snapshot may hold: more was not written by us


def path_of(state: Path, ident: int) -> Path:
    """Return where a snapshot lies."""
    return state / state_files.WEIGHTS_SNAPSHOTS / f"{ident}.weights"


def packed(image: bytes, more: bytes) -> bytes:
    """Return what a file of weights holds.

    Args:
        image: header and weights.
        more: what the learner needs to go on.
    """
    return zlib.compress(pack_snapshot(image, more), LEVEL)


def write(path: Path, octets: bytes) -> None:
    """Write a file of weights that appears whole or not at all, and survives the power going.

    Args:
        path: of the file; its folder is made.
        octets: `packed`.

    Raises:
        StoreError: it can't be written.
    """
    try:
        path.parent.mkdir(mode=0o750, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    write_atomically(path, octets)


def read(path: Path) -> UnpackedSnapshot:
    """Return what a file of weights holds.

    Raises:
        StoreError: there is none, it is damaged, or not ours.
    """
    try:
        octets = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return unpacked(octets, path)


def unpacked(octets: bytes, path: Path) -> UnpackedSnapshot:
    """Return what the octets of a file of weights hold.

    Args:
        octets: of the file, or what somebody says is one.
        path: of it, for errors.

    Raises:
        StoreError: it is damaged, or not ours.
    """
    unfolding = zlib.decompressobj()
    try:
        whole = unfolding.decompress(octets, MOST_BYTES)
    except zlib.error as error:
        raise StoreError(f"{path}: is damaged, or no file of weights ({error})") from error
    if not unfolding.eof:
        raise StoreError(f"{path}: is damaged, or no file of weights: it does not end")
    return unpack_snapshot(whole, path)


def remove(path: Path) -> None:
    """Remove a snapshot's file; one that is gone already is as good.

    Raises:
        StoreError: it stays.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def surplus_snapshots(snapshots: Sequence[WeightsSnapshot]) -> list[int]:
    """Return those to be removed.

    Args:
        snapshots: all of them, the newest first.
    """
    days: set[int] = set()
    surplus = []
    for snapshot in snapshots[NEWEST:]:
        day = int(snapshot.time // DAY_S)
        if day in days or len(days) >= DAYS:
            surplus.append(snapshot.id)
        days.add(day)
    return surplus
