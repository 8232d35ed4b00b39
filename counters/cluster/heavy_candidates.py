"""Candidates for the heaviest keys of a cluster: the keys that this machine counts most.

The sketch is fed with each step, and its notes are kept in the outbox. Only the cluster knows
whether a unique pair was new, so each first sight of a (P, day) in a step counts for its U here.
The true counts of the candidates are read from the cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from oborona.counters import record
from oborona.counters.batch import KEYS, BatchSegment
from oborona.counters.batch_sums import sum_batches
from oborona.counters.heavy_hitters import HeavyHitters
from oborona.counters.merge import ONE_SEEN, AppliedBatches
from oborona.counters.window import bucket_of, day_of


def feed(sketch: HeavyHitters, parts: Sequence[AppliedBatches], now: float) -> None:
    """Take in a step.

    Args:
        sketch: of this machine.
        parts: of the step, in their order.
        now: Unix seconds.
    """
    for part in parts:
        sketch.forget(part.forgotten)
        sketch.feed(part.total.keys, part.total.cells, part.total.starts, now)
        if part.total.pairs:
            met = sum_batches((), bucket_of(now), gains=_met(part.total.pairs))
            sketch.feed(met.keys, met.cells, met.starts, now)


def _met(pairs: Sequence[tuple[bytes, bytes, int]]) -> list[BatchSegment]:
    """Return what U's would gain if no pair had been seen before."""
    firsts = {
        (both, day_of(bucket)): (distinct, bucket) for both, distinct, bucket in reversed(pairs)
    }
    gains: dict[int, list[bytes]] = defaultdict(list)
    for distinct, bucket in firsts.values():
        gains[bucket].append(distinct)
    return [
        BatchSegment(
            bucket=bucket,
            keys=np.frombuffer(b"".join(keys), KEYS),
            cells=np.frombuffer(record.cells(ONE_SEEN, bucket) * len(keys), "<u8"),
        )
        for bucket, keys in gains.items()
    ]
