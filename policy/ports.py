"""What policy needs of the world, as Protocols that stores satisfy.

The scan gets these as arguments; it opens no socket, file or clock of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oborona.types import Amounts, Pieces, Prefix, Shingle

Totals = list[list[list[int]]]
"""[shingle in the order asked][Window][Metric]"""


class CounterReader(Protocol):
    """Windowed counts, as a scan asks for them."""

    async def read(self, shingles: Sequence[Shingle], now: float, prefix: Prefix = Prefix.IN) -> Totals:
        """Return both windows of every metric for each shingle, zeros where nothing was counted.

        Args:
            shingles: any number, duplicates allowed.
            now: Unix time in seconds; windows are exact at bucket borders for it.
            prefix: the service.

        Raises:
            StoreError: the store cannot answer; the caller goes on without counts.
        """
        ...


class CounterWriter(Protocol):
    """Windowed counts, as the end of a scan adds to them."""

    def add(self, pieces: Pieces, amounts: Amounts, now: float, prefix: Prefix = Prefix.IN) -> None:
        """Count a message's shingles and decide its unique pairs, soon; returns at once.

        Each shingle gets `amounts`. Each pair whose `both` was not yet seen in the day of `now` adds one to
        `seen` of `distinct`; `both` is then seen.

        Args:
            pieces: one message's.
            amounts: added to each of `pieces.shingles`.
            now: Unix time in seconds: the bucket that counts.
            prefix: the service.
        """
        ...


class Counters(CounterReader, CounterWriter, Protocol):
    """Both sides of one store."""
