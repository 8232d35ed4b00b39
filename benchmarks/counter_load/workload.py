"""The mix of shingles that mail brings, as a load for a counter store; numbers in, messages out.

    a message   40 shingles: 24 never seen before, 16 by Zipf's law (s = 1.1) over the keys that the
                store was filled with, distinct within the message as `CountedPieces` are
    a key       a number; its type goes by turns, its hash is the number mixed: hashes lie anywhere,
                as real ones do
    history     what the stored keys had counted: each its first sight, and the Zipf share of the
                messages that brought them, spread over the last fortnight

So frequent keys have long records, as after two weeks of mail, and most have one cell. Messages are
made with numpy, a thousand at a time, the slow part ahead; `spent_s` says what the rest costs, so
that it can be told from the store's share.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import repeat
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.counters.window import BUCKETS_A_DAY, DAYS
from oborona.types import CountedPieces, Shingle, UniquePair

SHINGLES: Final = 40  # a message
NEW: Final = 24  # of them never seen before
KNOWN: Final = SHINGLES - NEW
ZIPF_S: Final = 1.1
# of the Zipf sum added up one by one; the others by an integral, exact to 1e-9
HEAD_RANKS: Final = 10_000
CHUNK: Final = 200  # messages made at once

# Types as a message has them; 16 windows of words, the others one each.
TYPES: Final = np.array(
    [5] * 16
    + [1, 2, 3, 4, 8, 9, 14, 15, 16, 18, 19, 21, 22, 23, 24, 26, 27, 42, 43, 47, 50, 51, 52, 56]
)
PAIR_TYPE: Final = 30
DISTINCT_TYPE: Final = 31
PAIR_NUMBERS: Final = 1 << 62  # a's of pairs, out of the way of all other numbers
TAG_BITS: Final = np.uint64(0xFFF << 52)  # in which the hashes of a pair agree

Numbers = npt.NDArray[np.uint64]

_new: Final = tuple.__new__  # past `Shingle`'s own constructor: 40 of them a message


def hashes(numbers: Numbers) -> Numbers:
    """Return the hash of each key; no two alike.

    Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014 (its
        finalizer, MurmurHash3's).
    """
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def types(numbers: Numbers) -> npt.NDArray[np.int64]:
    """Return the type of each key."""
    return TYPES[(numbers % np.uint64(SHINGLES)).astype(np.intp)]


class Workload:
    """The messages of one worker.

    Args:
        keys: how many the store was filled with: numbers 1 to `keys`, which are their Zipf ranks
            too.
        worker: its number, from 0; no two bring the same new key.
        workers: how many there are.
        pairs: unique pairs a message: 24 in 40 are a first sight.
        seed: the same one gives the same messages.

    Raises:
        ValueError: fewer keys than a message has different ones of.
    """

    def __init__(
        self, *, keys: int, worker: int = 0, workers: int = 1, pairs: int = 0, seed: int = 1
    ) -> None:
        if keys < KNOWN:
            raise ValueError(
                f"{keys} keys are too few: a message has {KNOWN} different ones of them"
            )
        self.spent_s = 0.0  # CPU, for messages given; what was prepared is not in it
        self._keys = keys
        self._pairs = pairs
        self._random = np.random.default_rng((seed, worker))
        self._next_new = keys + 1 + worker
        self._step = workers
        self._ranks: list[npt.NDArray[np.int64]] = []

    def prepare(self, messages: int) -> None:
        """Draw the ranks of this many messages ahead; 128 bytes each."""
        while len(self._ranks) * CHUNK < messages:
            self._ranks.append(self._draw())

    def messages(self) -> Iterator[CountedPieces]:
        """Yield messages without end."""
        while True:
            started = time.thread_time()
            made = self._make(self._ranks.pop() if self._ranks else self._draw())
            self.spent_s += time.thread_time() - started
            yield from made

    def _draw(self) -> npt.NDArray[np.int64]:
        """Return [message][16] ranks, distinct in each message."""
        ranks = self._random.zipf(ZIPF_S, (CHUNK, KNOWN))
        while True:
            ranks.sort(axis=1)
            unfit = ranks > self._keys
            unfit[:, 1:] |= ranks[:, 1:] == ranks[:, :-1]
            again = np.count_nonzero(unfit)
            if not again:
                return ranks
            ranks[unfit] = self._random.zipf(ZIPF_S, again)

    def _make(self, ranks: npt.NDArray[np.int64]) -> list[CountedPieces]:
        numbers = np.concatenate([ranks.astype(np.uint64), self._new(NEW)], axis=1).ravel()
        flat = list(
            map(
                _new,
                repeat(Shingle),
                zip(types(numbers).tolist(), hashes(numbers).tolist(), strict=True),
            )
        )
        pairs = self._make_pairs() if self._pairs else repeat(())
        return [
            CountedPieces(shingles=tuple(flat[at : at + SHINGLES]), pairs=theirs)
            for at, theirs in zip(range(0, len(flat), SHINGLES), pairs, strict=False)
        ]

    def _make_pairs(self) -> list[tuple[UniquePair, ...]]:
        fresh = self._random.random((CHUNK, self._pairs)) < NEW / SHINGLES
        numbers = np.where(
            fresh,
            self._new(self._pairs),
            self._random.integers(1, self._keys, fresh.shape, np.uint64),
        )
        owners = hashes(
            hashes(numbers) % np.uint64(self._keys // 100 + 1) + np.uint64(PAIR_NUMBERS)
        )
        both = owners & TAG_BITS | hashes(numbers) & ~TAG_BITS
        return [
            tuple(
                UniquePair(Shingle(PAIR_TYPE, one), Shingle(DISTINCT_TYPE, owner))
                for one, owner in zip(row, their_owners, strict=True)
            )
            for row, their_owners in zip(both.tolist(), owners.tolist(), strict=True)
        ]

    def _new(self, a_message: int) -> Numbers:
        count = CHUNK * a_message
        numbers = np.arange(
            self._next_new, self._next_new + count * self._step, self._step, dtype=np.uint64
        )
        self._next_new += count * self._step
        return numbers.reshape(CHUNK, a_message)


WHOLE_DAYS: Final = DAYS - 1
SLOTS: Final = WHOLE_DAYS + BUCKETS_A_DAY
"""Where a past sight may lie: in one of 13 whole days, the oldest first, or in one of the last 144
ten-minute buckets.
"""


class KeyHistory:
    """What the keys of a filled store had counted, a sample at a time.

    Args:
        keys: how many the store is to hold.
        seed: the same one gives the same history.
    """

    def __init__(self, keys: int, seed: int = 1) -> None:
        self._random = np.random.default_rng((seed, keys))
        self._scale = keys * KNOWN / NEW / zipf_sum(keys)

    def sights(
        self, numbers: Numbers
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return when and how often these keys were seen: place in `numbers`, slot, count.

        By place, then by slot.

        Each key comes once at least; each (place, slot) once at most.
        """
        more = self._random.poisson(self._scale * numbers.astype(np.float64) ** -ZIPF_S)
        places = np.repeat(np.arange(len(numbers)), more + 1)
        moments = self._random.integers(0, DAYS * BUCKETS_A_DAY, len(places))
        day, bucket = np.divmod(moments, BUCKETS_A_DAY)
        slots = np.where(day < WHOLE_DAYS, day, WHOLE_DAYS + bucket)
        found, counts = np.unique(places * SLOTS + slots, return_counts=True)
        return *np.divmod(found, SLOTS), counts


def zipf_sum(keys: int) -> float:
    """Return the sum of rank^-s over all ranks.

    Source: Euler and Maclaurin's formula, its first two terms behind the head.
    """
    head = min(keys, HEAD_RANKS)
    total = float(np.sum(np.arange(1, head + 1, dtype=np.float64) ** -ZIPF_S))
    power = 1 - ZIPF_S
    tail = (keys**power - head**power) / power + (keys**-ZIPF_S - head**-ZIPF_S) / 2
    return total + (tail if keys > head else 0.0)
