"""What every counter store does for a worker, in memory, on one machine or on a cluster; one test suite is held against each.

Two things are not a worker's to ask. `top` reads a sketch that the writing process keeps: it is with what tools read
(`stored.py`, `cluster/reader.py`, and `memory.py`), under a suite of its own. `purge` is the store's own care: the LMDB
writer's, in small steps (`writer.py`); a page of the cluster sees to itself when it is written; memory keeps all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oborona.counters.window import Timeline
from oborona.types import Amounts, Pieces, Prefix, Shingle

Totals = list[list[list[int]]]
"""[shingle in the order asked][Window][Metric]; not to be changed"""


class CounterStore(Protocol):
    """The counts that policy asks for and adds to (`policy.ports.Counters`), and what people ask of them."""

    async def read(self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN) -> Totals:
        """Return both windows of every metric at `now` for each shingle, zeros where nothing was counted.

        Raises:
            StoreError: the store cannot answer.
        """
        ...

    def add(self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN) -> None:
        """Count a message's shingles, and its unique pairs by the day of `now`; returns at once.

        Raises:
            ValueError: an amount is below zero or above 2^63-1; nothing is counted.
        """
        ...

    def take_back(
        self, shingles: Sequence[Shingle], amounts: Amounts, at: float, prefix: Prefix = Prefix.IN
    ) -> None:
        """Take back what was added to each of the shingles; returns at once. Unique pairs stay as they are.

        In whatever order adds and take-backs arrive: as long as no more is taken back than was added, and no sum is
        saturated, every later read is as if both had never been. No window is ever below zero.

        Args:
            shingles: that were added to.
            amounts: to be subtracted from each.
            at: Unix seconds of the add: the bucket that counts, whatever the time is now.
            prefix: the service.

        Raises:
            ValueError: an amount is below zero or above 2^49-1; nothing is taken back.
        """
        ...

    async def read_add(
        self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN
    ) -> Totals:
        """Count a message as `add` does; return what `read` of `pieces.shingles` gave before.

        Raises:
            StoreError: the store cannot answer; it is counted nevertheless.
            ValueError: an amount is below zero or above 2^63-1; nothing is counted.
        """
        ...

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN
    ) -> list[Timeline]:
        """Return, for each shingle, 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: the store cannot answer, or not for all.
        """
        ...

    def forget(self, shingle: Shingle, now: float, prefix: Prefix = Prefix.IN) -> None:
        """Forget what is counted under a shingle up to now; what other processes have not flushed yet may stay.

        Raises:
            StoreError: it can't be written down, and nothing is forgotten.
        """
        ...
