"""What several batches add up to: each key once, in key order, with the cells it gains.

    all keys and cells side by side → sort by key → cells of one key, bucket and level summed,
    digits that carry put right → distinct keys, and how many cells each has → of keys that are
    taken from, what is left

Whole arrays at a time: nearly all keys come once and with one cell, so that only those that come
more often are looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.counters import record
from oborona.counters.batch import KEYS, BatchSegment, Cells, Keys, SpoolBatch, split_keys
from oborona.counters.decode import DIGIT, SHIFTS
from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, FOREIGN_BUCKETS, LEVEL_SHIFT
from oborona.counters.window import MOST_TAKEN, SATURATED

PLACE_AND_LEVEL: Final = np.uint64(LEVEL_SHIFT)


class BatchSums(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of some batches in their order, and what each gains."""

    keys: Keys  # distinct, ascending
    cells: Cells  # of all keys, one key's behind the other's
    starts: npt.NDArray[np.intp]  # where in `cells` each key's begin, and at last their number
    pairs: list[tuple[bytes, bytes, int]]  # P, U, bucket; as they came
    foreign: int  # entries left out: their time cannot be told on the ring

    def key_bytes(self) -> list[bytes]:
        """Return the keys as the store has them."""
        return split_keys(self.keys.tobytes())

    def deltas(self, places: npt.NDArray[np.intp] | None = None) -> list[bytes]:
        """Return the cells that each key gains, or those at some places."""
        cells = self.cells.tobytes()
        if places is None:
            places = np.arange(len(self.keys))
        starts, ends = self.starts[places] * CELL_BYTES, self.starts[places + 1] * CELL_BYTES
        return [cells[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def sum_batches(
    batches: Sequence[SpoolBatch], reference: int, *, gains: Sequence[BatchSegment] = ()
) -> BatchSums:
    """Return what batches add up to.

    Args:
        batches: any number; what they forget is the caller's.
        reference: the current ten-minute bucket; what is half a year from it is left out.
        gains: more that is added, such as what unique pairs bring.

    A key whose adds and take-backs cancel each other is left out.
    """
    segments = [segment for batch in batches for segment in batch.segments] + list(gains)
    keys, cells, foreign = _side_by_side(segments, reference)
    heads, hashes = keys["head"].astype(np.uint16), keys["hash"].astype(np.uint64)
    order = sorted_order(heads, hashes)
    heads, hashes, keys, cells = heads[order], hashes[order], keys[order], cells[order]
    fresh = np.ones(len(keys), dtype=bool)  # where a new key begins
    fresh[1:] = (hashes[1:] != hashes[:-1]) | (heads[1:] != heads[:-1])
    distinct = keys
    if not fresh.all():
        distinct = keys[fresh]
        cells, fresh = _merged(cells, fresh)
    starts = np.append(np.flatnonzero(fresh), len(cells))
    if any(batch.takes for batch in batches):
        distinct, cells, starts = _netted(distinct, cells, starts)
    return BatchSums(
        keys=distinct,
        cells=cells,
        starts=starts,
        pairs=pairs_of(batches, reference),
        foreign=foreign,
    )


def _netted(
    keys: Keys, cells: Cells, starts: npt.NDArray[np.intp]
) -> tuple[Keys, Cells, npt.NDArray[np.intp]]:
    """Return keys, cells and starts with what is taken back subtracted where there is something to
    take it from.
    """
    deltas = [
        record.tidy(octets, None) if record.takes(octets) else octets
        for octets in (cells[start:end].tobytes() for start, end in pairwise(starts.tolist()))
    ]
    left = np.fromiter((len(delta) // CELL_BYTES for delta in deltas), np.intp, len(deltas))
    return (
        keys[left > 0],
        np.frombuffer(b"".join(deltas), "<u8"),
        np.concatenate([[0], np.cumsum(left[left > 0])]),
    )


def pairs_of(batches: Sequence[SpoolBatch], reference: int) -> list[tuple[bytes, bytes, int]]:
    """Return the unique pairs of batches, P, U and bucket of each, as they came.

    Those of foreign times are left out.
    """
    return [
        pair
        for batch in batches
        for pair in batch.pairs
        if abs(pair[2] - reference) <= FOREIGN_BUCKETS
    ]


def sorted_order(
    heads: npt.NDArray[np.uint16], hashes: npt.NDArray[np.uint64]
) -> npt.NDArray[np.intp]:
    """Return what sorts keys as the store does; equal keys in any order."""
    by_hash = np.argsort(hashes)
    return by_hash[np.argsort(heads[by_hash], kind="stable")]


def _side_by_side(segments: Sequence[BatchSegment], reference: int) -> tuple[Keys, Cells, int]:
    keys: list[Keys] = [np.empty(0, dtype=KEYS)]
    cells: list[Cells] = [np.empty(0, dtype=np.uint64)]
    foreign = 0
    for segment in segments:
        if abs(segment.bucket - reference) > FOREIGN_BUCKETS:
            foreign += len(segment.keys)
        else:
            keys.append(segment.keys)
            cells.append(segment.cells)
    # without its type it would turn the keys' bytes round
    return np.concatenate(keys, dtype=KEYS), np.concatenate(cells), foreign


def _merged(cells: Cells, fresh: npt.NDArray[np.bool_]) -> tuple[Cells, npt.NDArray[np.bool_]]:
    """Sum the cells of keys that come more than once; the others stay where they are."""
    several = ~fresh
    several[:-1] |= ~fresh[1:]
    group: npt.NDArray[np.intp] = np.cumsum(fresh)
    summed_group, summed_cells = _sums(group[several], cells[several])
    groups = np.concatenate([group[~several], summed_group])
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    first = np.ones(len(groups), dtype=bool)
    first[1:] = groups[1:] != groups[:-1]
    return np.concatenate([cells[~several], summed_cells])[order], first


def _sums(group: npt.NDArray[np.intp], cells: Cells) -> tuple[npt.NDArray[np.intp], Cells]:
    """Return the cells of each group, one for each bucket and level unless a digit carries.

    Groups ascending.
    """
    places = cells >> PLACE_AND_LEVEL
    order = np.lexsort((places, group))
    group, places, cells = group[order], places[order], cells[order]
    first = np.ones(len(group), dtype=bool)
    first[1:] = (group[1:] != group[:-1]) | (places[1:] != places[:-1])
    at = np.flatnonzero(first)
    digits = (cells[:, None] >> SHIFTS & DIGIT).astype(np.int64)
    sums = np.add.reduceat(digits, at, axis=0)
    packed = (sums.astype(np.uint64) << SHIFTS).sum(axis=1, dtype=np.uint64)
    totals = places[at] << PLACE_AND_LEVEL | packed
    carried = (sums > record.DIGIT).any(axis=1)
    if not carried.any():
        return group[at], totals
    groups, packed_cells = [group[at][~carried]], [totals[~carried]]
    for owner, place, counts in zip(
        group[at][carried].tolist(),
        places[at][carried].tolist(),
        sums[carried].tolist(),
        strict=True,
    ):
        level = place & record.LEVEL
        is_taken_back = level >= record.LEVELS
        weight = record.DIGIT_BITS * (level - record.LEVELS if is_taken_back else level)
        most = MOST_TAKEN if is_taken_back else SATURATED
        more = record.cells(
            [min(count << weight, most) for count in counts],
            place >> BUCKET_SHIFT - LEVEL_SHIFT,
            taken=is_taken_back,
        )
        packed_cells.append(np.frombuffer(more, "<u8"))
        groups.append(np.full(len(packed_cells[-1]), owner))
    order = np.argsort(np.concatenate(groups), kind="stable")
    return np.concatenate(groups)[order], np.concatenate(packed_cells)[order]
