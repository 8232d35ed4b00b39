r"""The heaviest keys of a type: candidates kept beside the records, their counts read from the
records themselves.

    \0top/<head><metric>    a note of `heavy_hitters.py` for each prefix, type and metric

The writer feeds its sketch with each step and writes the notes twice a minute, in a transaction of
their own; a writer that is killed loses the half minute. Who asks reads the candidates' windows and
sorts by them. So every count is exact, and what may be missing is a key that never was among the
candidates: `heavy_hitters.py` says which those are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final

import lmdb

from oborona.counters import heavy_hitters
from oborona.counters.heavy_hitters import HeavyHitters
from oborona.counters.record import PREFIXES
from oborona.errors import StoreError
from oborona.types import CounterPrefix, Metric, Shingle, Window

TOP_KEY: Final = b"\0top/"
KEEP_S: Final = 30.0
TOP_LIMIT: Final = 20
HEAD: Final = struct.Struct(">HB")  # prefix and type as in a key, metric

Ranks = list[tuple[Shingle, int]]
"""Shingles, heaviest first, and the count of each"""


def load(txn: lmdb.Transaction[bytes], report: Callable[[str], None]) -> HeavyHitters:
    """Return a sketch that goes on from the notes; what is damaged begins anew and is reported."""
    sketch = HeavyHitters()
    for key, note in _notes(txn):
        try:
            head, metric = HEAD.unpack(key.removeprefix(TOP_KEY))
            sketch.restore(head, Metric(metric), note)
        except (ValueError, struct.error) as error:
            report(f"the heaviest keys under {key.hex()} begin anew: {error}")
    return sketch


def keep(txn: lmdb.Transaction[bytes], sketch: HeavyHitters) -> None:
    """Write the notes of a sketch in the place of those that are there."""
    notes = {TOP_KEY + HEAD.pack(head, metric): note for head, metric, note in sketch.notes()}
    for key, _note in _notes(txn):
        if key not in notes:
            txn.delete(key)
    for key, note in notes.items():
        txn.put(key, note)


def candidates(
    txn: lmdb.Transaction[bytes], shingle_type: int, metric: Metric, prefix: CounterPrefix
) -> list[Shingle]:
    """Return the shingles that a note names; none when there is no note.

    Raises:
        StoreError: the note is damaged.
    """
    note = txn.get(TOP_KEY + HEAD.pack(_head(shingle_type, prefix), metric))
    if note is None:
        return []
    try:
        return [Shingle(shingle_type, hash_) for hash_ in heavy_hitters.hashes_of(note)]
    except ValueError as error:
        raise StoreError(f"{error}; the writer will write another") from error


def ranked(
    shingles: Sequence[Shingle],
    totals: Sequence[Sequence[Sequence[int]]],
    metric: Metric,
    window: Window,
    limit: int,
) -> Ranks:
    """Return the `limit` shingles that counted most in a window, heaviest first.

    None that counted nothing.

    Args:
        shingles: distinct.
        totals: [shingle][Window][Metric].
        metric: what to sort by.
        window: in which.
        limit: at most so many.
    """
    counted = [
        (shingle, row[window][metric])
        for shingle, row in zip(shingles, totals, strict=True)
        if row[window][metric]
    ]
    return sorted(counted, key=lambda pair: (-pair[1], pair[0]))[:limit]


def _head(shingle_type: int, prefix: CounterPrefix) -> int:
    return PREFIXES[prefix] << 8 | shingle_type


def _notes(txn: lmdb.Transaction[bytes]) -> list[tuple[bytes, bytes]]:
    notes = []
    with txn.cursor() as cursor:
        cursor.set_range(TOP_KEY)
        for key, note in cursor:
            if not key.startswith(TOP_KEY):
                break
            notes.append((key, note))
    return notes
