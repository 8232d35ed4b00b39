"""Moves flushes from the spools into the outbox: one transaction makes one step of all that is new
in them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oborona.counters.clock import SteadyClock
from oborona.counters.cluster import heavy_candidates, steps
from oborona.counters.cluster.outbox import Outbox, OutboxStep
from oborona.counters.spool_follower import SpoolFollower
from oborona.counters.window import bucket_of
from oborona.counters.writer import STEP_BYTES


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
            heavy_candidates.feed(self.heavy, contents.parts, now)
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
