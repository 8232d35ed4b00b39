"""What policy needs of the world, as Protocols that stores satisfy.

The scan gets these as arguments; it opens no socket, file or clock of its own. One test suite holds
each counter store, in memory, on one machine and on a cluster, to its contract here. Who counted
most (`top`) is no worker's to ask, for the writing process keeps it; and each store sees to its own
purge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from oborona.counters.window import Timeline
from oborona.message.model import Picture
from oborona.types import Amounts, CountedPieces, CounterPrefix, Finding, Location, Shingle

Totals = list[list[list[int]]]
"""[shingle in the order asked][Window][Metric]"""


class CounterReader(Protocol):
    """Windowed counts, as a scan asks for them."""

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Totals:
        """Return both windows of every metric for each shingle, zeros where nothing was counted.

        Args:
            shingles: any number, duplicates allowed.
            now: Unix time in seconds; windows are exact at bucket borders for it.
            prefix: the service.

        Raises:
            StoreError: the store cannot answer; the caller goes on without counts.
        """
        ...

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        """Return, for each shingle, 144 ten-minute buckets and 14 days up to `now`.

        Raises:
            StoreError: the store cannot answer, or not for all; the caller goes on without.
        """
        ...


class CounterAdder(Protocol):
    """Windowed counts, as the end of a scan adds to them."""

    def add(
        self,
        pieces: CountedPieces,
        amounts: Amounts,
        now: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        """Count a message's shingles and decide its unique pairs, soon; returns at once.

        Each shingle gets `amounts`. Each pair whose `both` was not yet seen in the day of `now`
        adds one to `seen` of `distinct`; `both` is then seen.

        Args:
            pieces: one message's.
            amounts: added to each of `pieces.shingles`.
            now: Unix time in seconds: the bucket that counts.
            prefix: the service.

        Raises:
            ValueError: an amount is below zero or above 2^63-1; nothing is counted.
        """
        ...


class CounterCorrector(Protocol):
    """Windowed counts, as who was wrong corrects them."""

    def take_back(
        self,
        shingles: Sequence[Shingle],
        amounts: Amounts,
        at: float,
        prefix: CounterPrefix = CounterPrefix.IN,
    ) -> None:
        """Take back what was added to each of the shingles, soon; returns at once.

        Unique pairs stay as they are.

        In whatever order adds and take-backs arrive: as long as no more is taken back than was
        added, and no sum is saturated, every later read is as if both had never been. No window is
        ever below zero.

        Args:
            shingles: that were added to.
            amounts: to be subtracted from each.
            at: Unix time in seconds of the add: the bucket that counts, whatever the time is now.
            prefix: the service.

        Raises:
            ValueError: an amount is below zero or above 2^49-1; nothing is taken back.
        """
        ...


class CounterStore(CounterReader, CounterAdder, Protocol):
    """Both sides of one store."""


class PictureView(msgspec.Struct, frozen=True, kw_only=True):
    """The pictures of a message after somebody looked."""

    # as many as there were, in their order; those not looked at as they were
    pictures: tuple[Picture, ...]
    findings: tuple[Finding, ...] = ()  # distinct names


class Pictures(Protocol):
    """Looks at pictures and reads them, in time.

    What is not done in time, or cannot be, is left as it was.
    """

    async def look(self, pictures: Sequence[Picture]) -> PictureView:
        """Return the pictures with what is in them: size, hashes, codes."""
        ...

    async def read(self, pictures: Sequence[Picture]) -> PictureView:
        """Return the pictures with their text."""
        ...


class GeoIpLookup(Protocol):
    """Where clients are, by databases of the site's own; nobody is asked."""

    def find(self, ip: str) -> Location:
        """Return where an address is; empty where it is not known, and for what is no address."""
        ...
