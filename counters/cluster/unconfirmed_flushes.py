"""A worker's own flushes that the cluster may not have yet, by key.

Each page says which step touched it last, so one read finds some pages that have a flush and some
that do not. A flush is therefore kept by its number under each of its keys, until it has been
everywhere for as long as an answer may be old.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from oborona.counters.buffer import AddBuffer

ENTRIES: Final = 250_000  # keys of flushes that are kept; about 60 MB


class UnconfirmedFlushes:
    """Flushes, oldest first."""

    def __init__(self) -> None:
        self._flushes: deque[tuple[int, AddBuffer]] = deque()
        self._entries = 0
        self.counted: dict[bytes, deque[tuple[int, int, int]]] = {}  # key → (flush, bucket, packed)
        self.taken: dict[bytes, deque[tuple[int, int, int]]] = {}
        self.paired: dict[
            bytes, deque[tuple[int, tuple[bytes, int], int]]
        ] = {}  # U → (flush, (P, day), bucket)
        self.hidden: dict[bytes, int] = {}  # key → the last flush that forgot it

    def __len__(self) -> int:
        return len(self._flushes)

    def push(self, sequence: int, buffer: AddBuffer) -> None:
        """Keep a flush; what is too old to be kept beside it is not seen any more until it is in
        the cluster.
        """
        for key in buffer.forgotten:
            self.hidden[key] = sequence
        for queues, brought in ((self.counted, buffer.counts), (self.taken, buffer.taken)):
            for bucket, summed in brought.items():
                for key, packed in summed.items():
                    queues.setdefault(key, deque()).append((sequence, bucket, packed))
        for distinct, firsts in buffer.pairs.items():
            have = self.paired.setdefault(distinct, deque())
            have.extend((sequence, sight, bucket) for sight, bucket in firsts.items())
        self._flushes.append((sequence, buffer))
        self._entries += buffer.entries
        while self._entries > ENTRIES and len(self._flushes) > 1:
            self._drop_oldest()

    def drop(self, sequence: int) -> None:
        """Drop flushes up to this one."""
        while self._flushes and self._flushes[0][0] <= sequence:
            self._drop_oldest()

    def counts(self, key: bytes, after: int) -> Iterator[tuple[int, int]]:
        """Yield (bucket, packed sum) of what flushes after this one count under a key since it was
        forgotten.
        """
        return self._since(self.counted, key, after)

    def take_backs(self, key: bytes, after: int) -> Iterator[tuple[int, int]]:
        """Yield the same of what they take back."""
        return self._since(self.taken, key, after)

    def _since(
        self, queues: dict[bytes, deque[tuple[int, int, int]]], key: bytes, after: int
    ) -> Iterator[tuple[int, int]]:
        since = max(after + 1, self.hidden.get(key, 0))
        for sequence, bucket, packed in queues.get(key, ()):
            if sequence >= since:
                yield bucket, packed

    def pairs(self, distinct: bytes, after: int) -> Iterator[tuple[int, tuple[bytes, int], int]]:
        """Yield (flush, (P, day), bucket of the first) of the pairs of a U in flushes after this
        one.
        """
        for sight in self.paired.get(distinct, ()):
            if sight[0] > after:
                yield sight

    def _drop_oldest(self) -> None:
        sequence, buffer = self._flushes.popleft()
        self._entries -= buffer.entries
        for queues, brought in ((self.counted, buffer.counts), (self.taken, buffer.taken)):
            for summed in brought.values():
                for key in summed:
                    _cut(queues, key, sequence)
        for distinct in buffer.pairs:
            _cut(self.paired, distinct, sequence)
        for key in buffer.forgotten:
            if self.hidden.get(key) == sequence:
                del self.hidden[key]


def _cut(
    queues: dict[bytes, deque[tuple[int, int, int]]]
    | dict[bytes, deque[tuple[int, tuple[bytes, int], int]]],
    key: bytes,
    sequence: int,
) -> None:
    """Take what is of this flush or older from the front of a key's entries."""
    entries = queues.get(key)
    while entries and entries[0][0] <= sequence:
        entries.popleft()
    if entries is not None and not entries:
        del queues[key]
