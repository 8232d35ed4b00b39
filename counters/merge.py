"""Batches into the store, inside one write transaction.

    decide the pairs: a P that has nothing stored for its day adds one to its U → sum all by key
    (`batch_sums.py`) → read the stored records, in key order → a key without a record: seen once,
    it goes to the doorkeeper; else it takes what the doorkeeper has of it → merge cells into
    records → write in key order

Pairs are held against what is stored before the batches, and decided once for each (P, day) in
them. A P that is also counted as a plain shingle in the same batch may or may not be new: types of
pairs are for pairs alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import compress, groupby
from typing import Final

import lmdb
import msgspec
import numpy as np
import numpy.typing as npt

from oborona.counters import doorkeeper, merge_records, record
from oborona.counters.batch import KEYS, BatchSegment, SpoolBatch
from oborona.counters.batch_sums import BatchSums, pairs_of, sum_batches
from oborona.counters.doorkeeper import SlotChanges, Slots
from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, cells
from oborona.counters.window import day_of
from oborona.types import Amounts

ONE_SEEN: Final = Amounts(seen=1)
HEAD_BYTES: Final = 2
NO_CHANGES: Final = doorkeeper.concatenate([])


class AppliedBatches(msgspec.Struct, frozen=True):
    """What some batches were."""

    forgotten: list[bytes]  # keys, before anything was added
    total: BatchSums


def apply_in_order(
    txn: lmdb.Transaction[bytes],
    batches: Sequence[SpoolBatch],
    reference: int,
    *,
    believed: bool,
    slots: Slots | None,
) -> tuple[list[AppliedBatches], SlotChanges]:
    """Merge batches into the records as `apply` does, those that forget in their place among the
    others.
    """
    applied: list[AppliedBatches] = []
    changes = doorkeeper.concatenate([])
    for forgets, run in groupby(batches, lambda batch: bool(batch.forgotten)):
        together = list(run)
        for part in [[batch] for batch in together] if forgets else [together]:
            total, changed = apply(
                txn, part, reference, believed=believed, slots=slots, meanwhile=changes
            )
            applied.append(AppliedBatches(part[0].forgotten, total))
            changes = doorkeeper.concatenate([changes, changed])
    return applied, changes


def apply(
    txn: lmdb.Transaction[bytes],
    batches: Sequence[SpoolBatch],
    reference: int,
    *,
    believed: bool,
    slots: Slots | None = None,
    meanwhile: SlotChanges = NO_CHANGES,
) -> tuple[BatchSums, SlotChanges]:
    """Merge batches into the records.

    Args:
        txn: a write transaction on the store.
        batches: in the order of their spools; one that forgets comes alone.
        reference: the current ten-minute bucket.
        believed: whether counts out of the window at `reference` may be dropped.
        slots: of the doorkeeper, which stay as they are; None when there is none.
        meanwhile: changes to it that are decided and not made.

    Returns:
        What the batches added up to, and what the doorkeeper is to change once the transaction is
        committed.
    """
    changes = [_forget(txn, batches, slots, reference, meanwhile)]
    pairs = pairs_of(batches, reference)
    total = sum_batches(batches, reference, gains=_new_pairs(txn, pairs))
    keys = total.key_bytes()
    with txn.cursor() as cursor:
        stored = dict(cursor.getmulti(keys))
    for key in [key for key, octets in stored.items() if not octets or len(octets) % CELL_BYTES]:
        del stored[key]  # damaged: `verify` says so; what is counted now takes its place
    is_stored = np.fromiter(map(stored.__contains__, keys), bool, len(keys))
    values: list[bytes] = [b""] * len(keys)
    new, present = np.flatnonzero(~is_stored), np.flatnonzero(is_stored)
    if slots is not None:
        new, seen_before, sightings, at_the_door = _at_the_door(
            total, new, pairs, slots, reference, doorkeeper.concatenate([meanwhile, *changes])
        )
        changes += at_the_door
        _put(values, seen_before, _grown(total, seen_before, sightings, None))
    _put(values, new, total.deltas(new))
    _put(
        values,
        present,
        _grown(total, present, list(stored.values()), reference if believed else None),
    )
    for place in present.tolist():
        if not values[place]:
            txn.delete(keys[place])
    with txn.cursor() as cursor:
        cursor.putmulti(list(compress(zip(keys, values, strict=True), values)))
    return total, doorkeeper.concatenate(changes)


def _grown(
    total: BatchSums, places: npt.NDArray[np.intp], records: list[bytes], reference: int | None
) -> list[bytes]:
    starts = total.starts
    return merge_records.merge_records(
        records, total.cells, starts[places], starts[places + 1], reference
    )


def _put(values: list[bytes], places: npt.NDArray[np.intp], some: list[bytes]) -> None:
    for place, value in zip(places.tolist(), some, strict=True):
        values[place] = value


def _forget(
    txn: lmdb.Transaction[bytes],
    batches: Sequence[SpoolBatch],
    slots: Slots | None,
    reference: int,
    meanwhile: SlotChanges,
) -> SlotChanges:
    forgotten = [key for batch in batches for key in batch.forgotten]
    for key in forgotten:
        txn.delete(key)
    if not forgotten or slots is None:
        return doorkeeper.concatenate([])
    keys = np.frombuffer(b"".join(forgotten), KEYS)
    return doorkeeper.removal_changes(
        doorkeeper.find(
            slots,
            keys["head"].astype(np.uint16),
            keys["hash"].astype(np.uint64),
            reference,
            meanwhile,
        )
    )


def _at_the_door(
    total: BatchSums,
    absent: npt.NDArray[np.intp],
    pairs: list[tuple[bytes, bytes, int]],
    slots: Slots,
    reference: int,
    meanwhile: SlotChanges,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], list[bytes], list[SlotChanges]]:
    """Let the doorkeeper keep what is seen once.

    Returns:
        Which of the absent keys are new and get records; which had been seen once, and their
        sightings, which become records; and the changes to the table.
    """
    heads = total.keys["head"][absent].astype(np.uint16)
    of_pairs = {int.from_bytes(both[:HEAD_BYTES], "big") for both, _distinct, _bucket in pairs}
    # nothing that only looks like it may be taken for a P
    exact = absent[np.isin(heads, list(of_pairs))]
    if len(exact):
        absent = np.setdiff1d(absent, exact, assume_unique=True)
        heads = total.keys["head"][absent].astype(np.uint16)
    hashes = total.keys["hash"][absent].astype(np.uint64)
    sighted = doorkeeper.find(slots, heads, hashes, reference, meanwhile)
    firsts = total.cells[total.starts[absent]]
    once = (
        ~sighted.found & (np.diff(total.starts)[absent] == 1) & doorkeeper.single_sightings(firsts)
    )
    buckets = (firsts[once] >> np.uint64(BUCKET_SHIFT)).astype(np.uint32)
    changes = [
        doorkeeper.removal_changes(sighted),
        doorkeeper.admit(slots, heads[once], hashes[once], buckets, reference, meanwhile),
    ]
    sightings = doorkeeper.sighting_cells(sighted).tobytes()
    return (
        np.concatenate([absent[~once & ~sighted.found], exact]),
        absent[sighted.found],
        [sightings[at : at + CELL_BYTES] for at in range(0, len(sightings), CELL_BYTES)],
        changes,
    )


def _new_pairs(
    txn: lmdb.Transaction[bytes], pairs: list[tuple[bytes, bytes, int]]
) -> list[BatchSegment]:
    """Return what U's gain."""
    if not pairs:
        return []
    with txn.cursor() as cursor:
        stored = dict(cursor.getmulti(sorted({both for both, _distinct, _bucket in pairs})))
    decided: set[tuple[bytes, int]] = set()
    gains: dict[int, list[bytes]] = defaultdict(list)
    for both, distinct, bucket in pairs:
        day = day_of(bucket)
        if (both, day) in decided:
            continue
        decided.add((both, day))
        if both not in stored or not record.seen_in_day(stored[both], day):
            gains[bucket].append(distinct)
    return [
        BatchSegment(
            bucket=bucket,
            keys=np.frombuffer(b"".join(distinct), KEYS),
            cells=np.frombuffer(cells(ONE_SEEN, bucket) * len(distinct), "<u8"),
        )
        for bucket, distinct in gains.items()
    ]
