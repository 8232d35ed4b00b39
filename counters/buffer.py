"""A worker's adds, summed in memory until they are flushed; no I/O.

Per bucket a dictionary from key to one integer: six counts side by side, 96 bits each, so that
adding a message is one lookup and one addition a shingle (five times 1 is 5), and four billion
largest amounts meet no neighbour. Unique pairs are kept as the first sight of each (P, day) under
its U. The store decides whether U grows; a reader of this process may predict that decision. Keys
to forget are forgotten before the adds of this buffer apply. Take-backs are summed apart from the
adds, since a packed sum has no sign.

The size is bounded: at ENTRIES keys, new keys are refused and counted in `dropped`, and known keys
go on summing. The bound is reached only when flushing fails for minutes, as on a full disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from oborona.counters.record import (
    BUCKET_SHIFT,
    CELL_BYTES,
    DIGIT,
    LEVEL_SHIFT,
    LEVELS,
    RING,
    cells,
)
from oborona.counters.window import (
    METRICS,
    MOST_TAKEN,
    SATURATED,
    bucket_of,
    check,
    check_taken,
    day_of,
)
from oborona.types import Amounts

ENTRIES: Final = 250_000  # about 50 MB of dictionary, and a record of 5 MB
FIELD_BITS: Final = 96
FIELD: Final = (1 << FIELD_BITS) - 1
LEAST_TAKEN: Final = LEVELS << LEVEL_SHIFT  # the level of a cell that takes a few back

Summed = dict[bytes, int]


class AddBuffer:
    """What one flush brings: `counts` and `taken` by bucket and key, `pairs` by U and (P, day),
    `forgotten` keys.
    """

    __slots__ = ("_limit", "counts", "dropped", "entries", "forgotten", "pairs", "taken")

    def __init__(self, limit: int = ENTRIES) -> None:
        self.counts: dict[int, Summed] = {}
        self.taken: dict[int, Summed] = {}
        # U → (P, day) → bucket of the first
        self.pairs: dict[bytes, dict[tuple[bytes, int], int]] = {}
        self.forgotten: set[bytes] = set()
        self.entries = 0
        self.dropped = 0
        self._limit = limit

    def add(
        self,
        keys: Sequence[bytes],
        pairs: Sequence[tuple[bytes, bytes]],
        amounts: Amounts,
        now: float,
    ) -> None:
        """Sum a message's shingles and note its pairs.

        Args:
            keys: of the shingles.
            pairs: keys of P and U.
            amounts: added to each of `keys`.
            now: Unix seconds.

        Raises:
            ValueError: an amount is below zero or above 2^63-1.
        """
        bucket = bucket_of(now)
        summed = self.counts.get(bucket)
        if summed is None:
            summed = self.counts[bucket] = {}
        before = len(summed)
        packed = _packed(amounts)
        room = self._limit - self.entries
        if pairs:
            day = day_of(bucket)
            for pair, distinct in pairs:
                if room <= 2 * len(pairs) and pair not in summed:
                    self.dropped += 1
                    continue
                firsts = self.pairs.setdefault(distinct, {})
                if (pair, day) not in firsts:
                    firsts[pair, day] = bucket
                    self.entries += 1
                summed[pair] = summed.get(pair, 0) + 1
        if packed:
            admitted = keys if room >= len(keys) else self._admitted(keys, summed, room)
            get = summed.get
            for key in admitted:
                summed[key] = get(key, 0) + packed
        self.entries += len(summed) - before

    def take_back(self, keys: Sequence[bytes], amounts: Amounts, at: float) -> None:
        """Sum what is taken back from each of `keys`, in the bucket of `at`, Unix seconds.

        Raises:
            ValueError: an amount is below zero or above 2^49-1.
        """
        check_taken(amounts)
        packed = _packed(amounts)
        if not packed:
            return
        summed = self.taken.setdefault(bucket_of(at), {})
        before = len(summed)
        for key in self._admitted(keys, summed, self._limit - self.entries):
            summed[key] = summed.get(key, 0) + packed
        self.entries += len(summed) - before

    def forget(self, key: bytes) -> None:
        """Note that all that was counted before this buffer began is to be forgotten.

        Nothing may be counted in it yet.

        Raises:
            ValueError: something is.
        """
        if self.counts or self.taken:
            raise ValueError("what is forgotten comes before what is added")
        self.forgotten.add(key)
        self.entries = len(self.forgotten)

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
        [min(packed >> (FIELD_BITS * metric) & FIELD, SATURATED) for metric in range(METRICS)],
        bucket,
    )


def taken_cells_of(packed: int, bucket: int) -> bytes:
    """Return the cells that take a packed sum back."""
    if packed <= DIGIT:
        return ((bucket % RING) << BUCKET_SHIFT | LEAST_TAKEN | packed).to_bytes(
            CELL_BYTES, "little"
        )
    counts = [min(packed >> (FIELD_BITS * metric) & FIELD, MOST_TAKEN) for metric in range(METRICS)]
    return cells(counts, bucket, taken=True)


@lru_cache(maxsize=256)
def _packed(amounts: Amounts) -> int:
    check(amounts)
    return sum(amount << (FIELD_BITS * metric) for metric, amount in enumerate(amounts))
