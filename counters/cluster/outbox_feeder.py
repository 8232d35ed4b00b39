"""Moves flushes from the spools into the outbox: one transaction makes one step of all that is new
in them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from oborona.counters import record
from oborona.counters.batch import KEYS, BatchSegment
from oborona.counters.batch_sums import sum_batches
from oborona.counters.clock import SteadyClock
from oborona.counters.cluster import steps
from oborona.counters.cluster.outbox import Outbox, OutboxStep
from oborona.counters.heavy_hitters import HeavyHitters
from oborona.counters.merge import ONE_SEEN, AppliedBatches
from oborona.counters.spool_follower import SpoolFollower
from oborona.counters.window import bucket_of, day_of
from oborona.counters.writer import STEP_BYTES

# Candidates for the heaviest keys of a cluster: the keys that this machine counts most.
#
# The sketch is fed with each step, and its notes are kept in the outbox. Only the cluster knows
# whether a unique pair was new, so each first sight of a (P, day) in a step counts for its U here.
# The true counts of the candidates are read from the cluster.


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


class OutboxFeeder:
    """Follows all spools of a machine.

    Args:
        spools: their folder.
        outbox: knows how far they are taken.
        doorkeeper: whether shingles seen once get no record.
        report: told, in words for an admin, what was cut, skipped or left out.

    Attributes:
        heavy: the sketch of the heaviest keys; it is fed with each step.
        behind: whether the last call of `take` left something that it could have taken.

    Raises:
        StoreError: the spools cannot be read.
    """

    def __init__(
        self, spools: Path, outbox: Outbox, *, doorkeeper: bool, report: Callable[[str], None]
    ) -> None:
        self._outbox = outbox
        self._doorkeeper = doorkeeper
        self._report = report
        self.heavy = outbox.heavy()
        self.behind = False
        self._clock = SteadyClock(outbox.newest)
        self._follower = SpoolFollower(spools, outbox.positions, report)
        self._follower.sweep()
        self._orphans = set(outbox.positions) - self._follower.owners()

    def take(self, now: float) -> int:
        """Take what is new in the spools; returns how many flushes.

        Args:
            now: Unix seconds; what is out of the windows at this time may be dropped.

        Raises:
            StoreFull: no room for the outbox; nothing is lost, the next call tries again.
            StoreError: the spools or the outbox cannot be used.
        """
        collected = self._follower.collect(STEP_BYTES)
        self.behind = collected.more
        if not (collected.batches or collected.positions or collected.finished or self._orphans):
            return 0
        if collected.batches or collected.positions or self._orphans:
            reference = bucket_of(now)
            believed = self._clock.believes(reference)
            number = int(self._outbox.last.max()) + 1
            befores = self._outbox.last.tolist()
            contents = steps.make(
                collected.batches,
                reference,
                befores,
                self._outbox.id,
                believed=believed,
                doorkeeper=self._doorkeeper,
            )
            tags = [share.tag for share in contents.shares]
            takes = any(batch.takes for batch in collected.batches)
            step = (
                OutboxStep(number, tags, steps.encode(contents.shares, now), takes)
                if tags
                else None
            )
            self._outbox.take(collected.positions, self._orphans, self._clock.newest, step)
            feed(self.heavy, contents.parts, now)
            foreign = sum(part.total.foreign for part in contents.parts)
            if foreign:
                self._report(
                    f"{foreign} counts are left out: their time is over half a year from now"
                )
            if contents.parted:
                self._report(
                    f"{contents.parted} pairs are left out: the hashes of the two begin differently"
                )
        self._orphans = set()
        # their positions go with the next transaction
        self._orphans = self._follower.settle(collected)
        return len(collected.batches)

    def pass_over(self) -> int:
        """Take what lies in the spools without sending it: how much of it was sent is not known any
        more.

        Returns how many flushes.

        Raises:
            StoreError: the spools or the outbox cannot be used.
        """
        flushes = 0
        while True:
            collected = self._follower.collect(STEP_BYTES)
            if not (collected.batches or collected.positions):
                break
            self._outbox.take(collected.positions, (), self._clock.newest, None)
            self._follower.settle(collected)
            flushes += len(collected.batches)
        return flushes

    def close(self) -> None:
        """Close the spools."""
        self._follower.close()
