"""The backlog of the spools: adds that workers have counted and the store has not applied yet.

Reading takes no lock, so it does not disturb a running writer. The writer goes on meanwhile, so the
figures may be slightly too high.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.counters.batch import HEADER_BYTES, MAGIC, REST, START
from oborona.counters.spool import SpoolFile, parse_name
from oborona.counters.spool_follower import SpoolPosition
from oborona.errors import StoreError

UNAPPLIED: Final = SpoolPosition()


class SpoolBacklog(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's spool, as far as it is not applied."""

    worker: str
    owner: str  # the worker and its session
    files: int
    bytes: int
    # Unix time of the first flush that waits; None when none does, or it can't be told
    oldest: float | None


def spool_backlog(directory: Path, positions: dict[str, SpoolPosition]) -> list[SpoolBacklog]:
    """Return what waits in each spool of a store, by owner.

    Args:
        directory: the store's.
        positions: how far each spool is applied, as the store said before the files are looked at.

    Raises:
        StoreError: a spool cannot be read.
    """
    spools = directory / state_files.COUNTERS_SPOOL
    by_owner: dict[str, list[SpoolFile]] = {}
    try:
        names = sorted(path.name for path in spools.iterdir()) if spools.is_dir() else []
        for name in names:
            file = parse_name(name)
            if file is not None:
                by_owner.setdefault(file.owner, []).append(file)
        return [
            _waiting(spools, owner, files, positions.get(owner, UNAPPLIED))
            for owner, files in by_owner.items()
        ]
    except OSError as error:
        raise StoreError(f"cannot read the spools in {spools}: {error}") from error


def lag_s(spools: Sequence[SpoolBacklog], now: float) -> float:
    """Return how long the oldest flush has waited, in seconds; 0 when none does."""
    return max([0.0, *(now - spool.oldest for spool in spools if spool.oldest is not None)])


def _waiting(
    spools: Path, owner: str, files: list[SpoolFile], position: SpoolPosition
) -> SpoolBacklog:
    total = 0
    oldest: float | None = None
    present = 0
    for file in files:
        offset = position.offset if file.number == position.number else 0
        try:
            descriptor = os.open(spools / file.name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # applied, and removed since it was listed
            continue
        try:
            present += 1
            size = os.fstat(descriptor).st_size
            if file.number >= position.number and size > offset:
                if not total:
                    oldest = _flushed_at(os.pread(descriptor, HEADER_BYTES, offset))
                total += size - offset
        finally:
            os.close(descriptor)
    return SpoolBacklog(
        worker=files[0].worker, owner=owner, files=present, bytes=total, oldest=oldest
    )


def _flushed_at(header: bytes) -> float | None:
    """Return the time in the header of a record; None when it is none, or cut short."""
    try:
        magic, *_rest = START.unpack_from(header)
        _sequence, time, *_rest = REST.unpack_from(header, START.size)
    except struct.error:
        return None
    return float(time) if magic == MAGIC else None
