"""A counter store filled at once, for measuring: records with their history, put into LMDB past
spools and writer.

    64 rounds: a sample of the keys in key order → their sights → cells → records → one transaction

In one pass in key order LMDB would fill each page to its end, and the load would then split all of
them at once: the file looks smaller and the load slower than either is later on. Rounds leave pages
as full as they become by themselves.

Source: Glombiewski, Seeger, Graefe: Waves of misery after index creation, BTW 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import lmdb
import msgspec
import numpy as np
import numpy.typing as npt

from oborona.counter_load.workload import SLOTS, WHOLE_DAYS, KeyHistory, hashes, types
from oborona.counters.batch import KEYS
from oborona.counters.record import (
    BUCKET_SHIFT,
    CELL_BYTES,
    DAY_BIT,
    DIGIT,
    DIGIT_BITS,
    KEY_BYTES,
    LEVEL_SHIFT,
    LEVELS,
    PREFIXES,
    RING,
)
from oborona.counters.window import BUCKETS_A_DAY, DAYS, bucket_of, day_of
from oborona.types import CounterPrefix

ROUNDS: Final = 64

Numbers = npt.NDArray[np.int64]


class KeySample(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of one round, sorted, and what they had counted."""

    keys: list[bytes]
    places: Numbers  # in `keys`
    slots: Numbers  # see `SLOTS`
    counts: Numbers  # of that key in that slot


def rounds(keys: int) -> Iterator[KeySample]:
    """Yield keys 1 to `keys` of the workload in 64 samples, each spread over all the space of
    keys.
    """
    history = KeyHistory(keys)
    for first in range(1, ROUNDS + 1):
        numbers = np.arange(first, keys + 1, ROUNDS, dtype=np.uint64)
        packed = np.empty(len(numbers), KEYS)
        packed["head"] = (PREFIXES[CounterPrefix.IN] << 8) + types(numbers)
        packed["hash"] = hashes(numbers)
        order = np.lexsort((packed["hash"], packed["head"]))
        places, slots, counts = history.sights(numbers[order])
        raw = packed[order].tobytes()
        yield KeySample(
            keys=[raw[at : at + KEY_BYTES] for at in range(0, len(raw), KEY_BYTES)],
            places=places,
            slots=slots,
            counts=counts,
        )


def first_buckets(now: float) -> Numbers:
    """Return for each slot of a history that ends at `now` its first ten-minute bucket."""
    last = bucket_of(now)
    days = np.arange(day_of(last) - DAYS + 1, day_of(last)) * BUCKETS_A_DAY
    return np.concatenate([days, np.arange(last - BUCKETS_A_DAY + 1, last + 1)])


def fill(
    environment: lmdb.Environment, keys: int, now: float, progress: Callable[[float], None]
) -> None:
    """Put keys 1 to `keys` of the workload into an empty store.

    Args:
        environment: the writer's; its map is large enough.
        keys: how many.
        now: Unix seconds; their history lies in the fortnight before.
        progress: told the share that is done, 0 to 1.

    Raises:
        lmdb.Error: no room, or the disk fails.
    """
    for done, sample in enumerate(rounds(keys), 1):
        with environment.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti(list(zip(sample.keys, records(sample, now), strict=True)))
        progress(done / ROUNDS)


def records(sample: KeySample, now: float) -> list[bytes]:
    """Return the record of each key, its cells as `record.tidy` orders them at `now`."""
    heads = first_buckets(now) % RING << BUCKET_SHIFT
    heads[:WHOLE_DAYS] |= DAY_BIT
    found, whose = [], []
    for level in reversed(range(LEVELS)):
        digits = sample.counts >> DIGIT_BITS * level & DIGIT
        (some,) = np.nonzero(digits)
        found.append(heads[sample.slots[some]] | level << LEVEL_SHIFT | digits[some])
        whose.append(sample.places[some] * SLOTS + sample.slots[some])
    owners = np.concatenate(whose)
    order = np.argsort(owners, kind="stable")
    raw = np.concatenate(found)[order].astype("<u8").tobytes()
    ends = np.searchsorted(owners[order] // SLOTS, np.arange(len(sample.keys) + 1)) * CELL_BYTES
    return [raw[start:end] for start, end in pairwise(ends.tolist())]
