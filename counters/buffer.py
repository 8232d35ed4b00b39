"""A worker's adds, summed in memory until they are flushed; no I/O.

Per bucket a dictionary from key to one integer: six counts side by side, 64 bits each, so that adding a message is one
lookup and one addition a shingle (five times 1 is 5). Unique pairs are kept as the first sight of each (P, day) under
its U: whether U grows is the store's to say, but a reader of this process may count on what it will say.

The size is bounded: at ENTRIES new keys are turned away and counted in `dropped`; known ones go on summing. It gets
there only when nothing can be flushed for minutes: the disk is full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, DIGIT, KEY, PREFIXES, RING, cells
from oborona.counters.window import METRICS, SATURATED, bucket_of, check, day_of
from oborona.types import Amounts, Pieces, Prefix

ENTRIES: Final = 250_000  # about 50 MB of dictionary, and a record of 5 MB
FIELD_BITS: Final = 64
FIELD: Final = (1 << FIELD_BITS) - 1
SMALL: Final = 1 << 32  # 2^31 amounts below this fit above the largest saturated count without a carry

Summed = dict[bytes, int]


class Buffer:
    """Adds of one flush: `counts` by bucket and key, `pairs` by U and (P, day)."""

    __slots__ = ("_limit", "counts", "dropped", "entries", "pairs")

    def __init__(self, limit: int = ENTRIES) -> None:
        self.counts: dict[int, Summed] = {}
        self.pairs: dict[bytes, dict[tuple[bytes, int], int]] = {}  # U → (P, day) → bucket of the first
        self.entries = 0
        self.dropped = 0
        self._limit = limit

    def add(self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix) -> None:
        """Sum a message's shingles and note its pairs.

        Raises:
            ValueError: an amount is below zero or above 2^63-1.
        """
        bucket = bucket_of(now)
        summed = self.counts.get(bucket)
        if summed is None:
            summed = self.counts[bucket] = {}
        first, pack = PREFIXES[prefix], KEY.pack
        before = len(summed)
        packed, small = _packed(amounts)
        room = self._limit - self.entries
        if pieces.pairs:
            day = day_of(bucket)
            for both, distinct in pieces.pairs:
                pair = pack(first, *both)
                if room <= 2 * len(pieces.pairs) and pair not in summed:
                    self.dropped += 1
                    continue
                firsts = self.pairs.setdefault(pack(first, *distinct), {})
                if (pair, day) not in firsts:
                    firsts[pair, day] = bucket
                    self.entries += 1
                summed[pair] = summed.get(pair, 0) + 1
        if packed:
            keys: Iterable[bytes] = [pack(first, *shingle) for shingle in pieces.shingles]
            if room < len(pieces.shingles):
                keys = self._admitted(keys, summed, room)
            if small:
                get = summed.get
                for key in keys:
                    summed[key] = get(key, 0) + packed
            else:
                for key in keys:
                    summed[key] = _saturated(summed.get(key, 0), amounts)
        self.entries += len(summed) - before

    def read_into(self, keys: list[bytes], records: list[bytes]) -> None:
        """Append to each key's record the cells of what is summed here; pairs are `pairs_of`."""
        for bucket, summed in self.counts.items():
            for place, packed in enumerate(map(summed.get, keys)):
                if packed:
                    records[place] += cells_of(packed, bucket)

    def _admitted(self, keys: Iterable[bytes], summed: Summed, room: int) -> Iterator[bytes]:
        for key in keys:
            if key not in summed:
                if room <= 0:
                    self.dropped += 1
                    continue
                room -= 1
            yield key


def cells_of(packed: int, bucket: int) -> bytes:
    """Return the cells of a packed sum."""
    if packed <= DIGIT:  # seen a few times and nothing else: nearly all of them
        return ((bucket % RING) << BUCKET_SHIFT | packed).to_bytes(CELL_BYTES, "little")
    return cells(
        [min(packed >> (FIELD_BITS * metric) & FIELD, SATURATED) for metric in range(METRICS)], bucket
    )


@lru_cache(maxsize=256)
def _packed(amounts: Amounts) -> tuple[int, bool]:
    check(amounts)
    return sum(amount << (FIELD_BITS * metric) for metric, amount in enumerate(amounts)), max(amounts) < SMALL


def _saturated(packed: int, amounts: Amounts) -> int:
    return sum(
        min((packed >> (FIELD_BITS * metric) & FIELD) + amount, SATURATED) << (FIELD_BITS * metric)
        for metric, amount in enumerate(amounts)
    )
