"""What a store is made of, as an admin asks for it: records, bytes, who writes, and what waits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import lmdb
import msgspec

from oborona import state_files
from oborona.counters import store_walk
from oborona.counters.backlog import SpoolBacklog, lag_s, spool_backlog
from oborona.counters.doorkeeper import WAYS
from oborona.counters.doorkeeper_file import NOTE
from oborona.counters.lmdb_store import (
    DOORKEEPER_KEY,
    FIRST_RECORD,
    I64,
    NEWEST_KEY,
    U32,
    VERSION_KEY,
    LmdbReader,
    as_store_error,
    positions,
)
from oborona.counters.store_walk import TypeShare
from oborona.counters.window import BUCKET_S
from oborona.errors import StoreAbsent, StoreError
from oborona.lock import holder

UNKNOWN: Final = f"unknown: no permission to open {state_files.COUNTERS_LOCK}"


class BtreePages(msgspec.Struct, frozen=True, kw_only=True):
    """The tree, in pages."""

    bytes: int  # of one page
    depth: int
    branch: int
    leaf: int
    overflow: int
    last: int  # highest number in use; those that are in no tree are free to be used again


class StoreStats(msgspec.Struct, frozen=True, kw_only=True):
    """A store at one moment."""

    directory: str
    version: int
    records: int
    used_bytes: int  # pages of the tree
    free_bytes: int  # pages that are used again
    file_bytes: int
    map_bytes: int  # what the file may grow to before the map doubles
    pages: BtreePages
    newest: float | None  # Unix time at which the newest bucket begins that was believed
    doorkeeper_slots: int  # of the table of shingles seen once; 0 = there is none
    writer: str | None  # who holds the writer's lock; None: nobody, or `UNKNOWN`
    spools: list[SpoolBacklog]
    waiting_bytes: int
    lag_s: float  # how long the oldest flush has waited
    types: list[TypeShare] | None = None  # when asked for


def look(directory: Path, now: float, *, types: bool = False) -> StoreStats:
    """Look at a store; a running daemon is not disturbed.

    Args:
        directory: the store's.
        now: Unix seconds.
        types: also walk over all records, and say what each type takes.

    Raises:
        StoreError: there is no store, or it or its spools cannot be read.
    """
    reader = LmdbReader(directory)
    try:
        with reader.transaction() as txn:
            environment = reader.environment
            if txn is None or environment is None:
                raise StoreAbsent(
                    f"no counter store in {directory}: has the writer run?", state_files.COUNTERS
                )
            tree, info = txn.stat(), environment.info()
            spool_positions = positions(txn)
            version = U32.unpack(txn.get(VERSION_KEY, bytes(U32.size)))[0]
            newest = txn.get(NEWEST_KEY)
            doorkeeper = txn.get(DOORKEEPER_KEY)
            notes = _notes(txn)
        with as_store_error(directory):
            size = (directory / state_files.COUNTERS_DATA).stat().st_size
            shares = store_walk.shares(environment) if types else None
    finally:
        reader.close()
    spools = spool_backlog(directory, spool_positions)
    used = (tree["branch_pages"] + tree["leaf_pages"] + tree["overflow_pages"]) * tree["psize"]
    return StoreStats(
        directory=os.fspath(directory),
        version=version,
        records=tree["entries"] - notes,
        used_bytes=used,
        free_bytes=(info["last_pgno"] + 1) * tree["psize"] - used,
        file_bytes=size,
        map_bytes=info["map_size"],
        pages=BtreePages(
            bytes=tree["psize"],
            depth=tree["depth"],
            branch=tree["branch_pages"],
            leaf=tree["leaf_pages"],
            overflow=tree["overflow_pages"],
            last=info["last_pgno"],
        ),
        newest=I64.unpack(newest)[0] * float(BUCKET_S) if newest else None,
        doorkeeper_slots=NOTE.unpack(doorkeeper)[1] * WAYS if doorkeeper else 0,
        writer=writer_of(directory),
        spools=spools,
        waiting_bytes=sum(spool.bytes for spool in spools),
        lag_s=lag_s(spools, now),
        types=shares,
    )


def writer_of(directory: Path) -> str | None:
    """Return who holds the writer's lock, None when nobody does, `UNKNOWN` to who may not open it.

    Raises:
        StoreError: the lock cannot be looked at.
    """
    try:
        pid = holder(directory / state_files.COUNTERS_LOCK)
    except StoreError as error:
        if isinstance(error.__cause__, PermissionError):
            return UNKNOWN
        raise
    return str(pid) if pid is not None else None


def _notes(txn: lmdb.Transaction[bytes]) -> int:
    """Return how many of the entries are the store's own notes."""
    count = 0
    with txn.cursor() as cursor:
        for key in cursor.iternext(keys=True, values=False):
            if key >= FIRST_RECORD:
                break
            count += 1
    return count
