"""A table of shingles seen once: six in ten never come again, and the store need not keep a record
for them.

    slot  u32: 15 bits of fingerprint, 17 bits of ring bucket; 0 is empty
    set   8 slots; which set and which fingerprint follow from the key's bits

A key without a record whose only count is one `seen` takes a slot of its set: an empty one, else
one out of the fortnight, else that of the oldest sighting, which is forgotten. When the key comes
again, its first sighting, with its time, goes into a record and the slot is free. So nothing is
approximate but this:

    full   the oldest sightings of a set are lost before their fortnight is over: the count of such
           a key is one low
    alike  a new key finds another's slot by chance, at most 8 in 32,768: it counts one too many,
           the other one too few

A shingle that is the first half of a unique pair never comes here: pairs stay exact. The arithmetic
is whole arrays at a time and touches no file; changes are computed first and made after the store's
transaction, `doorkeeper_file.py` says how.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, FUTURE_BUCKETS, RING
from oborona.counters.window import BUCKETS_A_DAY, DAYS

WAYS: Final = 8
MOST_BYTES: Final = 16 << 30  # places are 32 bits
SLOT_BYTES: Final = 4
BUCKET_BITS: Final = 17
PRINT: Final = np.uint32((1 << 15) - 1)
PRINT_SHIFT: Final = np.uint64(20)
BUCKET: Final = np.uint32(RING - 1)
BUCKET_SHIFT_U64: Final = np.uint64(BUCKET_SHIFT)
SPREAD: Final = np.uint64(
    0x9E3779B97F4A7C15
)  # odd: neighbours on the ring of hashes fall into different sets
HEAD_SPREAD: Final = np.uint64(0xC2B2AE3D27D4EB4F)
LIVES: Final = DAYS * BUCKETS_A_DAY  # buckets; as long as a fortnight's window can hold it
AHEAD: Final = RING // 2  # an age beyond this is a time that has not come yet
ONE_SEEN: Final = np.uint64(1)
PARTS: Final = Struct(">HQ")  # of a key: prefix and type, hash
_BITS: Final = (1 << 64) - 1
_SPREAD, _HEAD_SPREAD, _PRINT_SHIFT = int(SPREAD), int(HEAD_SPREAD), int(PRINT_SHIFT)
_PRINT, _BUCKET = int(PRINT), int(BUCKET)
COUNTS_AND_LEVEL: Final = np.uint64((1 << BUCKET_SHIFT) - 1)

Slots = npt.NDArray[np.uint32]
"""[set][way]"""


class SlotChanges(msgspec.Struct, frozen=True):
    """Slots to set, in this order; making them again changes nothing."""

    places: npt.NDArray[np.uint32]  # set * WAYS + way
    values: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.places)

    def make(self, slots: Slots) -> None:
        """Set them; the last one wins where a place comes twice."""
        slots.reshape(-1)[self.places] = self.values

    def to_bytes(self) -> bytes:
        """Return them as the store keeps them until the table is on the disk."""
        return np.stack([self.places, self.values]).astype("<u4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, slots: int) -> SlotChanges:
        """Return what `to_bytes` gave.

        Raises:
            ValueError: it is no such thing for a table of so many slots.
        """
        if len(data) % (2 * SLOT_BYTES):
            raise ValueError(f"{len(data)} bytes are no whole changes")
        places, values = np.frombuffer(data, "<u4").reshape(2, -1)
        if len(places) and int(places.max()) >= slots:
            raise ValueError("a change beyond the table")
        return cls(places, values)


class KeySlots(msgspec.Struct, frozen=True):
    """Where keys are in the table."""

    found: npt.NDArray[np.bool_]
    places: npt.NDArray[np.intp]  # of those found
    buckets: npt.NDArray[np.uint32]  # ring buckets of their sighting


def single_sightings(cells: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return which cells are one `seen` and nothing else."""
    alone: npt.NDArray[np.bool_] = cells & COUNTS_AND_LEVEL == ONE_SEEN
    return alone


def find(
    slots: Slots,
    heads: npt.NDArray[np.uint16],
    hashes: npt.NDArray[np.uint64],
    reference: int,
    meanwhile: SlotChanges | None = None,
) -> KeySlots:
    """Return which keys have a sighting in the table that is not out of the fortnight at bucket
    `reference`.

    Args:
        slots: as they are.
        heads: of the keys.
        hashes: beside `heads`.
        reference: the current bucket.
        meanwhile: changes that are decided and not made.
    """
    sets, prints = _places(slots, heads, hashes)
    rows = _rows(slots, sets, meanwhile)
    is_found = np.zeros(len(sets), dtype=bool)
    at, ways = np.nonzero(rows >> BUCKET_BITS == prints[:, None])
    if len(at):  # few: mostly none of a message's new keys
        live = _ages(rows[at, ways], reference) < LIVES
        at, ways = at[live], ways[live]
        first = np.ones(len(at), dtype=bool)
        first[1:] = at[1:] != at[:-1]
        at, ways = at[first], ways[first]
        is_found[at] = True
    return KeySlots(is_found, sets[at] * WAYS + ways, rows[at, ways] & BUCKET)


def cells_seen_once(
    slots: memoryview[int], keys: Sequence[bytes], places: Sequence[int], reference: int
) -> list[tuple[int, bytes]]:
    """Return (place, the cell of its one sighting) for the keys that have one; few have.

    A reader's `find`: a message has tens of keys to look for, too few for arrays to be quicker. The
    native core looks by itself (`record_windows.py`).

    Args:
        slots: all of them in a row, as they are.
        keys: of the store.
        places: what stands for each of `keys` in the answer.
        reference: the current bucket.
    """
    shift = 64 - (len(slots) // WAYS - 1).bit_length()
    sightings = []
    for place, key in zip(places, keys, strict=True):
        head, number = PARTS.unpack(key)
        mixed = (number ^ head * _HEAD_SPREAD & _BITS) * _SPREAD & _BITS
        at, sought = (mixed >> shift) * WAYS, mixed >> _PRINT_SHIFT & _PRINT
        for slot in slots[at : at + WAYS].tolist():
            if slot >> BUCKET_BITS == sought and slot and _is_live(slot, reference):
                cell = (slot & _BUCKET) << BUCKET_SHIFT | 1
                sightings.append((place, cell.to_bytes(CELL_BYTES, "little")))
                break
    return sightings


def _is_live(slot: int, reference: int) -> bool:
    """Tell whether the sighting of one slot that is not empty lies in the fortnight.

    `_ages` for one.
    """
    age = (reference - (slot & _BUCKET)) % RING
    return age < LIVES or age - RING >= -FUTURE_BUCKETS


def sighting_cells(slots: KeySlots) -> npt.NDArray[np.uint64]:
    """Return the cells of the sightings that were found."""
    return slots.buckets.astype(np.uint64) << BUCKET_SHIFT_U64 | ONE_SEEN


def admit(
    slots: Slots,
    heads: npt.NDArray[np.uint16],
    hashes: npt.NDArray[np.uint64],
    buckets: npt.NDArray[np.uint32],
    reference: int,
    meanwhile: SlotChanges | None = None,
) -> SlotChanges:
    """Return what gives each key a slot; keys that are too many for one set at once get none.

    Args:
        slots: stay as they are.
        heads: of keys that `find` did not find.
        hashes: beside `heads`.
        buckets: ring buckets of their sightings.
        reference: the current bucket.
        meanwhile: changes that are decided and not made.
    """
    sets, prints = _places(slots, heads, hashes)
    order = np.argsort(sets, kind="stable")
    sets, prints, buckets = sets[order], prints[order], buckets[order]
    first = np.ones(len(sets), dtype=bool)
    first[1:] = sets[1:] != sets[:-1]
    numbers = np.arange(len(sets))
    # how many of the set come before it
    rank = numbers - np.maximum.accumulate(np.where(first, numbers, 0))
    fits = rank < WAYS
    sets, prints, buckets, rank = sets[fits], prints[fits], buckets[fits], rank[fits]
    rows = _rows(slots, sets, meanwhile)
    oldest_first = np.argsort(-_ages(rows, reference), axis=1, kind="stable")
    ways = oldest_first[np.arange(len(sets)), rank]
    values = prints << BUCKET_BITS | buckets
    return SlotChanges((sets * WAYS + ways).astype(np.uint32), values.astype(np.uint32))


def removal_changes(slots: KeySlots) -> SlotChanges:
    """Return what frees the slots that were found."""
    return SlotChanges(slots.places.astype(np.uint32), np.zeros(len(slots.places), np.uint32))


def concatenate(changes: list[SlotChanges]) -> SlotChanges:
    """Return all of them in their order."""
    return SlotChanges(
        np.concatenate([change.places for change in changes] or [np.empty(0, np.uint32)]),
        np.concatenate([change.values for change in changes] or [np.empty(0, np.uint32)]),
    )


def _rows(slots: Slots, sets: npt.NDArray[np.intp], meanwhile: SlotChanges | None) -> Slots:
    """Return the slots of some sets, as they will be when changes are made."""
    rows = slots[sets]
    if meanwhile is not None and len(meanwhile):
        places, last = np.unique(meanwhile.places[::-1], return_index=True)  # the last one wins
        values = meanwhile.values[::-1][last]
        ways = sets[:, None] * WAYS + np.arange(WAYS)
        at = np.searchsorted(places, ways).clip(max=len(places) - 1)
        changed = places[at] == ways
        rows[changed] = values[at[changed]]
    return rows


def _places(
    slots: Slots, heads: npt.NDArray[np.uint16], hashes: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint32]]:
    """Return set and fingerprint of keys: the first bits of a product, and some from its middle."""
    mixed = (hashes ^ heads * HEAD_SPREAD) * SPREAD
    sets = mixed >> np.uint64(64 - (len(slots) - 1).bit_length())
    return sets.astype(np.intp), (mixed >> PRINT_SHIFT).astype(np.uint32) & PRINT


def _ages(rows: Slots, reference: int) -> npt.NDArray[np.int32]:
    """Return by slot how many buckets ago its sighting was.

    Below 0 for the future, RING for one that is empty or wrong.

    What lies more than a day ahead comes from a clock that was wrong, as in a record.
    """
    ages = (np.int32(reference % RING) - (rows & BUCKET).astype(np.int32)) % np.int32(RING)
    ages = np.where(ages > AHEAD, ages - RING, ages).astype(np.int32)
    return np.where((rows == 0) | (ages < -FUTURE_BUCKETS), np.int32(RING), ages)
