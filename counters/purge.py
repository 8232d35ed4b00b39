"""What a walk over the store frees: records out of every window, and cells that no read can reach.

    read up to N records from a place on → count the living cells of each → none: delete the record;
    16 dead ones, or one from a wrong clock's future: tidy it → go on behind the last, or from the
    start again

A step is short whatever it meets: after so many records to tidy it ends, and the next goes on
there.

The walk is a read transaction that ends before anything is written; there is one writer, so nothing
changes between. Records age without being touched, so this is what keeps the file from growing for
ever: freed pages are used again, the file itself does not shrink.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import lmdb
import msgspec
import numpy as np
import numpy.typing as npt

from oborona.counters import record
from oborona.counters.lmdb_store import FIRST_RECORD
from oborona.counters.record import CELL_BYTES, DAYS_KEPT, FUTURE_BUCKETS, RING
from oborona.counters.window import BUCKETS_A_DAY, day_of

DEAD_CELLS: Final = 16  # a rewrite of the record is worth it
TIDIED: Final = 20  # records in one step: each takes 10 µs and more
PLACE_SHIFT: Final = np.uint64(record.BUCKET_SHIFT)


class PurgeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one step of a purge found."""

    scanned: int = 0
    round_done: bool = False  # the end was reached; `next` is the start again
    next: bytes = FIRST_RECORD
    changes: list[tuple[bytes, bytes]] = []  # key, new record; empty = delete


def purge_from(
    txn: lmdb.Transaction[bytes], place: bytes, reference: int, limit: int
) -> PurgeResult:
    """Return what is to be freed among the `limit` records from `place` on, at bucket
    `reference`.
    """
    with txn.cursor() as cursor:
        if not cursor.set_range(place):
            return PurgeResult(round_done=True)
        walked = list(islice(cursor, limit))
    done = len(walked) < limit
    sound = [(key, stored) for key, stored in walked if stored and not len(stored) % CELL_BYTES]
    if not sound:
        return PurgeResult(
            scanned=len(walked), round_done=done, next=_next_place(walked, done=done)
        )
    empty, stale = _classify([stored for _key, stored in sound], reference)
    if len(stale) > TIDIED:  # the rest next time
        until = int(stale[TIDIED])
        empty, stale, done = empty[empty < until], stale[:TIDIED], False
        walked = walked[: walked.index(sound[until])]
    changes = [(sound[at][0], b"") for at in empty]
    changes += [(sound[at][0], record.tidy(sound[at][1], reference)) for at in stale]
    return PurgeResult(
        scanned=len(walked),
        round_done=done,
        next=_next_place(walked, done=done),
        changes=changes,
    )


def _classify(
    records: list[bytes], reference: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return which records are out of every window, and which others are worth tidying."""
    cells = np.frombuffer(b"".join(records), "<u8")
    places = (cells >> PLACE_SHIFT).astype(np.int64)
    ages = (reference - places + RING // 2) % RING - RING // 2  # as `record.absolute`
    is_future = ages < -FUTURE_BUCKETS
    is_old = ages > reference - (day_of(reference) - DAYS_KEPT + 1) * BUCKETS_A_DAY
    ends = np.cumsum([len(stored) // CELL_BYTES for stored in records])
    starts = np.concatenate([[0], ends[:-1]])
    dead = np.add.reduceat(is_future | is_old, starts, dtype=np.intp)
    future = np.add.reduceat(is_future, starts, dtype=np.intp)
    is_empty = dead == ends - starts
    return np.flatnonzero(is_empty), np.flatnonzero(
        ~is_empty & ((dead >= DEAD_CELLS) | (future > 0))
    )


def _next_place(walked: list[tuple[bytes, bytes]], *, done: bool) -> bytes:
    """Return where the next walk begins: the smallest key behind the last one."""
    return FIRST_RECORD if done else walked[-1][0] + b"\0"
