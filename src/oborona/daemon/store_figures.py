"""What the stores of a state folder take on the disk, and how far the writer of counts is behind.

No process needs to run for it: files are looked at, and the counters' store is read as any tool
reads it.  What can't be read has no figure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.counters.backlog import lag_s, spool_backlog
from oborona.counters.lmdb_store import LmdbReader, positions
from oborona.errors import StoreError
from oborona.metrics import Gauge, MetricsSnapshot

STORES: Final = (
    state_files.JOURNAL, state_files.JOURNAL_SPOOL, state_files.INDEX, state_files.SEARCH,
    state_files.COUNTERS, state_files.EVENTS, state_files.FEEDBACK, state_files.PERSONS,
    state_files.PINS, state_files.SIGNATURES, state_files.MOVES, state_files.ACCOUNTS,
    state_files.ADDRESSES, state_files.AUDIT, state_files.FLOWS, state_files.EVENT_LOGS,
    state_files.EVENT_LOG_STORE, state_files.EVENT_LOG_RECEIVED, state_files.SET_APART,
)  # fmt: skip
SQLITE_FILES: Final = ("", "-wal", "-shm")
MOST_FILES: Final = 20_000  # of a folder that are looked at: 0.1 s
BYTES: Final = Gauge(
    "oborona_store_bytes",
    "What a store takes on the disk, its log or its folder included.",
    ("store",),
)
FREE: Final = Gauge("oborona_state_free_bytes", "What is free where the state folder lies.", ())
COUNTERS_BEHIND: Final = Gauge(
    "oborona_counters_behind_seconds",
    "How long the first count that is in no store yet has waited for the writer; told of a store on "
    "this machine.",
    (),
)
COUNTERS_WAITING: Final = Gauge(
    "oborona_counters_waiting_bytes",
    "Counts that wait for the writer; told of a store on this machine.",
    (),
)


def look_at_stores(state: Path, now: float) -> MetricsSnapshot:
    """Return the figures of now.

    Args:
        state: folder; need not be there.
        now: Unix seconds.
    """
    sizes = {store: _size(state / store) for store in STORES}
    told = MetricsSnapshot(values={})
    told.values[BYTES.name] = [
        ((store,), size) for store, size in sizes.items() if size is not None
    ]
    with suppress(OSError):
        disk = os.statvfs(state)
        told.values[FREE.name] = [((), disk.f_bavail * disk.f_frsize)]
    with suppress(StoreError):
        _look_at_counters(state / state_files.COUNTERS, now, told)
    return told


def _look_at_counters(directory: Path, now: float, told: MetricsSnapshot) -> None:
    if not (directory / state_files.COUNTERS_DATA).exists():
        return  # in a cluster, or not begun
    reader = LmdbReader(directory)
    try:
        with reader.transaction() as txn:
            if txn is None:
                return
            applied = positions(txn)
    finally:
        reader.close()
    spools = spool_backlog(directory, applied)
    told.values[COUNTERS_BEHIND.name] = [((), max(0.0, lag_s(spools, now)))]
    told.values[COUNTERS_WAITING.name] = [((), sum(spool.bytes for spool in spools))]


def _size(path: Path) -> int | None:
    """Return what a store takes; None = it is not there, or may not be looked at."""
    if path.is_dir():
        return sum(size for _, size in zip(range(MOST_FILES), _sizes(path), strict=False))
    with suppress(OSError):
        size = path.stat().st_blocks * 512
        for suffix in SQLITE_FILES[1:]:
            with suppress(OSError):
                size += path.with_name(path.name + suffix).stat().st_blocks * 512
        return size
    return None


def _sizes(folder: Path) -> Iterator[int]:
    """Yield what each file below a folder takes; a sparse one takes what is written of it."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sizes(Path(entry.path))
                continue
            with suppress(OSError):
                yield entry.stat(follow_symlinks=False).st_blocks * 512
