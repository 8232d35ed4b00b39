"""What a walk over the store frees: records out of every window, and cells that no read can reach.

    read up to N records from a place on → count the living cells of each by table → none: delete the record;
    16 dead ones, or one from a wrong clock's future: tidy it → go on behind the last, or from the start again

The walk is a read transaction that ends before anything is written; there is one writer, so nothing changes between.
Records age without being touched, so this is what keeps the file from growing for ever: freed pages are used again,
the file itself does not shrink.
"""

from __future__ import annotations

from functools import lru_cache
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
ALIVE: Final = 0
OLD: Final = 1
FUTURE: Final = 2
PLACE_SHIFT: Final = np.uint64(record.BUCKET_SHIFT)


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """What one step of a purge found."""

    scanned: int = 0
    round_done: bool = False  # the end was reached; `next` is the start again
    next: bytes = FIRST_RECORD
    changes: list[tuple[bytes, bytes]] = []  # key, new record; empty = delete


def purge_from(txn: lmdb.Transaction[bytes], place: bytes, reference: int, limit: int) -> Purged:
    """Return what is to be freed among the `limit` records from `place` on, at bucket `reference`."""
    with txn.cursor() as cursor:
        if not cursor.set_range(place):
            return Purged(round_done=True)
        walked = list(islice(cursor, limit))
    done = len(walked) < limit
    following = FIRST_RECORD if done else walked[-1][0] + b"\0"  # the smallest key behind the last
    sound = [(key, stored) for key, stored in walked if stored and not len(stored) % CELL_BYTES]
    if not sound:
        return Purged(scanned=len(walked), round_done=done, next=following)
    cells = np.frombuffer(b"".join([stored for _key, stored in sound]), "<u8")
    states = _states(reference)[(cells >> PLACE_SHIFT).astype(np.intp)]
    ends = np.cumsum([len(stored) // CELL_BYTES for _key, stored in sound])
    starts = np.concatenate([[0], ends[:-1]])
    dead = np.add.reduceat(states != ALIVE, starts, dtype=np.intp)
    future = np.add.reduceat(states == FUTURE, starts, dtype=np.intp)
    gone = dead == ends - starts
    stale = ~gone & ((dead >= DEAD_CELLS) | (future > 0))
    changes = [(sound[at][0], b"") for at in np.flatnonzero(gone)]
    changes += [(sound[at][0], record.tidy(sound[at][1], reference)) for at in np.flatnonzero(stale)]
    return Purged(
        scanned=len(walked),
        round_done=done,
        next=following,
        changes=changes,
    )


@lru_cache(maxsize=2)
def _states(reference: int) -> npt.NDArray[np.uint8]:
    """Return by ring place whether a cell lives at `reference`."""
    table = np.full(RING, FUTURE, dtype=np.uint8)
    table[np.arange(reference - RING // 2 + 1, reference + 1) % RING] = OLD
    oldest = (day_of(reference) - DAYS_KEPT + 1) * BUCKETS_A_DAY
    table[np.arange(oldest, reference + FUTURE_BUCKETS + 1) % RING] = ALIVE
    return table
