"""The adds of a worker that the cluster's answer does not include: its waiting flushes and its
buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from oborona.counters import record
from oborona.counters.add_spooler import AddSpooler
from oborona.counters.cluster.page_queries import PageCells
from oborona.counters.cluster.unconfirmed_flushes import UnconfirmedFlushes

UNFLUSHED: Final = 1 << 62  # stands for the flush that is to come


class UnackedAdds:
    """A worker's own adds beside what the cluster has.

    Args:
        outgoing: its buffer is what is not flushed.
        waiting: what is flushed, and may not be in the cluster yet.
    """

    def __init__(self, outgoing: AddSpooler, waiting: UnconfirmedFlushes) -> None:
        self._outgoing = outgoing
        self._waiting = waiting

    def record(self, key: bytes, stored: PageCells) -> bytes:
        """Return what the cluster has of a key; nothing of what we have forgotten since."""
        return b"" if self._forgotten_by(key) > stored.after(key) else stored.cells(key)

    def counts(self, key: bytes, stored: PageCells) -> Iterator[tuple[int, int]]:
        """Yield (bucket, packed sum) of the flushes that are not in the answer."""
        if key in self._waiting.counted and key not in self._outgoing.buffer.forgotten:
            yield from self._waiting.counts(key, stored.after(key))

    def take_backs(self, key: bytes, stored: PageCells) -> Iterator[tuple[int, int]]:
        """Yield the same of what they take back."""
        if key in self._waiting.taken and key not in self._outgoing.buffer.forgotten:
            yield from self._waiting.take_backs(key, stored.after(key))

    @property
    def takes(self) -> bool:
        """Whether something is taken back that may not be in the cluster yet."""
        return bool(self._waiting.taken or self._outgoing.buffer.taken)

    def halves(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield (P, U) of those of our pairs of these U's that the cluster may not have decided
        yet.
        """
        pairs = self._outgoing.buffer.pairs
        if not (pairs or self._waiting.paired):
            return
        for key in keys:
            for _flush, (both, _day), _bucket in self._waiting.pairs(key, 0):
                yield both, key
            for both, _day in pairs.get(key, ()):
                yield both, key

    def gains(self, distinct: bytes, stored: PageCells) -> Counter[int]:
        """Return what U is about to gain from our own pairs, by bucket."""
        gains: Counter[int] = Counter()
        buffer = self._outgoing.buffer
        if distinct not in self._waiting.paired and distinct not in buffer.pairs:
            return gains
        sights = [
            *self._waiting.pairs(distinct, stored.after(distinct)),
            *(
                (UNFLUSHED, sight, bucket)
                for sight, bucket in buffer.pairs.get(distinct, {}).items()
            ),
        ]
        begins = self._forgotten_by(distinct)
        known_since: dict[tuple[bytes, int], int] = {}
        for flush, sight, bucket in sights:
            both, day = sight
            forgotten = self._forgotten_by(both)
            if sight in known_since and not known_since[sight] < forgotten <= flush:
                continue
            known_since[sight] = flush
            # what the cluster has of P is from before
            since = stored.after(both) < forgotten <= flush
            if flush >= begins and (since or not record.seen_in_day(stored.cells(both), day)):
                gains[bucket] += 1
        return gains

    def _forgotten_by(self, key: bytes) -> int:
        """Return the last flush that forgot a key, which comes before what that flush counts."""
        return (
            UNFLUSHED
            if key in self._outgoing.buffer.forgotten
            else self._waiting.hidden.get(key, 0)
        )
