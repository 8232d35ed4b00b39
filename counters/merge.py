"""Batches into the store, inside one write transaction.

    sum the cells of all batches by key → read the stored records of these keys, in key order
    → a pair whose P has nothing stored for its day adds one to U → merge cells into records → write in key order

Pairs are held against what is stored before the batch, and decided once for each (P, day) in it. A P that is also
counted as a plain shingle in the same batch may or may not be new: types of pairs are for pairs alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

import lmdb

from oborona.counters import record
from oborona.counters.batch import Batch
from oborona.counters.record import FOREIGN_BUCKETS, cells
from oborona.counters.window import day_of
from oborona.types import Amounts

ONE_SEEN = Amounts(seen=1)


def apply(txn: lmdb.Transaction[bytes], batches: Iterable[Batch], reference: int, *, believed: bool) -> int:
    """Merge batches into the records.

    Args:
        txn: a write transaction on the store.
        batches: in the order of their spools.
        reference: the current ten-minute bucket.
        believed: whether counts out of the window at `reference` may be dropped.

    Returns:
        Entries left out: their time is more than half a year from `reference`.
    """
    deltas, pairs, foreign = _summed(batches, reference)
    keys = sorted(deltas)
    records: dict[bytes, bytes] = dict(zip(keys, map(txn.get, keys, repeat(b"")), strict=True))
    for distinct, delta in _new_pairs(txn, pairs, records).items():
        if distinct not in records:
            records[distinct] = txn.get(distinct, b"")
            keys.append(distinct)
        deltas[distinct] = deltas.get(distinct, b"") + delta
    keys.sort()
    horizon = reference if believed else None
    merge = record.merge
    items: list[tuple[bytes, bytes]] = []
    for key in keys:
        stored, delta = records[key], deltas[key]
        items.append(
            (key, merge(stored, delta, horizon) if stored or len(delta) > record.CELL_BYTES else delta)
        )
    gone = [key for key, value in items if not value]
    if gone:
        items = [item for item in items if item[1]]
        for key in gone:
            txn.delete(key)
    with txn.cursor() as cursor:
        cursor.putmulti(items)
    return foreign


def _summed(
    batches: Iterable[Batch], reference: int
) -> tuple[dict[bytes, bytes], list[tuple[bytes, bytes, int]], int]:
    deltas: dict[bytes, bytes] = {}
    pairs: list[tuple[bytes, bytes, int]] = []
    foreign = 0
    get, add = deltas.get, record.add
    for one in batches:
        for segment in one.segments:
            if abs(segment.bucket - reference) > FOREIGN_BUCKETS:
                foreign += len(segment.keys)
                continue
            for key, cell in zip(segment.keys, segment.cells, strict=True):
                have = get(key)
                deltas[key] = cell if have is None else add(have, cell)
        pairs += [pair for pair in one.pairs if abs(pair[2] - reference) <= FOREIGN_BUCKETS]
    return deltas, pairs, foreign


def _new_pairs(
    txn: lmdb.Transaction[bytes], pairs: list[tuple[bytes, bytes, int]], records: dict[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return what U's gain: a record of cells for each."""
    decided: set[tuple[bytes, int]] = set()
    gains: dict[bytes, bytes] = {}
    for both, distinct, bucket in pairs:
        day = day_of(bucket)
        if (both, day) in decided:
            continue
        decided.add((both, day))
        stored = records[both] if both in records else txn.get(both, b"")
        if not record.seen_in_day(stored, day):
            one = cells(ONE_SEEN, bucket)
            gains[distinct] = record.add(gains[distinct], one) if distinct in gains else one
    return gains
