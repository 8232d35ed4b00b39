"""A worker's own adds that the store does not have yet, as its reads see them.

What was flushed is kept until the writer has applied it. What was forgotten hides what the store
has of a key until that is applied, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from oborona.counters.buffer import AddBuffer, Summed, cells_of, taken_cells_of
from oborona.counters.rows import Row, first_window, with_packed, without_packed
from oborona.counters.window import bucket_of

PENDING_ENTRIES: Final = 250_000  # flushed, not applied, and still seen by reads; about 50 MB


class PendingAdds:
    """Flushes that are not applied, oldest first, and what they add up to: a read costs the same
    however many they are.
    """

    def __init__(self) -> None:
        self.hidden: dict[bytes, int] = {}  # keys that flushes forgot, and how many did
        self.counts: dict[int, Summed] = {}  # as a buffer's, of all flushes
        self.taken: dict[int, Summed] = {}
        self._flushes: deque[tuple[int, AddBuffer]] = deque()
        self._with_pairs: dict[
            bytes, deque[AddBuffer]
        ] = {}  # U → the flushes that have pairs of it
        self._entries = 0

    def __len__(self) -> int:
        return len(self._flushes)

    def push(self, sequence: int, buffer: AddBuffer) -> None:
        """Keep a flush; what is too old to be kept beside it is not seen any more until it is
        applied.
        """
        _sum_into(self.counts, buffer.counts)
        _sum_into(self.taken, buffer.taken)
        for distinct in buffer.pairs:
            self._with_pairs.setdefault(distinct, deque()).append(buffer)
        for key in buffer.forgotten:
            self.hidden[key] = self.hidden.get(key, 0) + 1
        self._flushes.append((sequence, buffer))
        self._entries += buffer.entries
        while self._entries > PENDING_ENTRIES and len(self._flushes) > 1:
            self._drop_oldest()

    def applied(self, sequence: int) -> None:
        """Drop what the store has, up to this flush."""
        while self._flushes and self._flushes[0][0] <= sequence:
            self._drop_oldest()

    def all(self) -> list[AddBuffer]:
        """Return the flushes, oldest first."""
        return [buffer for _sequence, buffer in self._flushes]

    def with_pairs_of(self, distinct: bytes) -> Iterable[AddBuffer]:
        """Return the flushes that have pairs of a U, and those that forget something, oldest
        first.
        """
        return self.all() if self.hidden else self._with_pairs.get(distinct, ())

    def places_with_pairs(self, keys: Sequence[bytes], buffer: AddBuffer) -> list[int]:
        """Return the places of keys that have pairs waiting."""
        if not (self._with_pairs or buffer.pairs):
            return []
        return [
            place
            for place, key in enumerate(keys)
            if key in self._with_pairs or key in buffer.pairs
        ]

    def _drop_oldest(self) -> None:
        _sequence, buffer = self._flushes.popleft()
        self._entries -= buffer.entries
        _drop_from(self.counts, buffer.counts)
        _drop_from(self.taken, buffer.taken)
        for distinct in buffer.pairs:
            flushes = self._with_pairs[distinct]
            flushes.popleft()
            if not flushes:
                del self._with_pairs[distinct]
        for key in buffer.forgotten:
            self.hidden[key] -= 1
            if not self.hidden[key]:
                del self.hidden[key]


def _sum_into(sums: dict[int, Summed], more: dict[int, Summed]) -> None:
    for bucket, summed in more.items():
        have = sums.setdefault(bucket, {})
        get = have.get
        for key, packed in summed.items():
            have[key] = get(key, 0) + packed


def _drop_from(sums: dict[int, Summed], dropped: dict[int, Summed]) -> None:
    for bucket, summed in dropped.items():
        have = sums.get(bucket, {})  # a message may have brought nothing
        for key, packed in summed.items():
            left = have[key] - packed
            if left:
                have[key] = left
            else:
                del have[key]
        if not have:
            sums.pop(bucket, None)


def add_to(
    rows: list[Row], keys: Sequence[bytes], counts: Iterable[dict[int, Summed]], now: float
) -> None:
    """Add to each key's windows at `now` what is counted under it.

    Rows that change are made anew.
    """
    _change(rows, keys, counts, now, with_packed)


def take_from(
    rows: list[Row], keys: Sequence[bytes], taken_back: Iterable[dict[int, Summed]], now: float
) -> None:
    """Take from each key's windows at `now` what is taken back of it, below zero if need be.

    Rows that change are made anew.
    """
    _change(rows, keys, taken_back, now, without_packed)


def _change(
    rows: list[Row],
    keys: Sequence[bytes],
    counts: Iterable[dict[int, Summed]],
    now: float,
    changed: Callable[[Row, int, int], Row],
) -> None:
    last = bucket_of(now)
    key_set = set(keys)
    by_window: dict[int, dict[bytes, int]] = {}
    for by_bucket in counts:
        for bucket, summed in by_bucket.items():
            first = first_window(bucket, last)
            if first is not None:
                sums = by_window.setdefault(first, {})
                for key in filter(summed.__contains__, key_set):
                    sums[key] = sums.get(key, 0) + summed[key]
    for first, sums in by_window.items():
        if sums:
            for place, key in enumerate(keys):
                if key in sums:
                    rows[place] = changed(rows[place], sums[key], first)


class UnstoredAdds(NamedTuple):
    """What is counted and taken back, and not in the store yet: each item by bucket and key."""

    counts: Sequence[dict[int, Summed]]
    taken: Sequence[dict[int, Summed]]


def since_forgotten(keys: Iterable[bytes], buffers: Iterable[AddBuffer]) -> UnstoredAdds:
    """Return what buffers, oldest first, bring to some keys since each was last forgotten."""
    counts: dict[int, Summed] = {}
    taken_back: dict[int, Summed] = {}
    key_set = set(keys)
    for buffer in buffers:
        for key in buffer.forgotten & key_set:
            for sums in (*counts.values(), *taken_back.values()):
                sums.pop(key, None)
        for totals, brought in ((counts, buffer.counts), (taken_back, buffer.taken)):
            for bucket, summed in brought.items():
                sums = totals.setdefault(bucket, {})
                for key in filter(summed.__contains__, key_set):
                    sums[key] = sums.get(key, 0) + summed[key]
    return UnstoredAdds([counts], [taken_back])


class PendingSighting(NamedTuple):
    """A pair that waits, as it was first seen in a day, or first since it was forgotten."""

    both: bytes
    day: int
    bucket: int
    forgotten: bool  # what the store has of P does not count


def sights_of(distinct: bytes, buffers: Iterable[AddBuffer]) -> list[PendingSighting]:
    """Return the pairs of a U that wait, oldest first."""
    sights: list[PendingSighting] = []
    noted: set[tuple[bytes, int]] = set()
    forgotten: set[bytes] = set()
    for buffer in buffers:
        if buffer.forgotten:
            forgotten |= buffer.forgotten
            noted = {pair for pair in noted if pair[0] not in buffer.forgotten}
            if distinct in buffer.forgotten:
                sights = []
        for pair, bucket in buffer.pairs.get(distinct, {}).items():
            if pair not in noted:
                noted.add(pair)
                sights.append(PendingSighting(*pair, bucket, pair[0] in forgotten))
    return sights


def waiting_cells(key: bytes, waiting: UnstoredAdds) -> bytes:
    """Return what waits under a key as cells of a record."""
    return b"".join(
        encode(packed, bucket)
        for encode, several in ((cells_of, waiting.counts), (taken_cells_of, waiting.taken))
        for by_bucket in several
        for bucket, summed in by_bucket.items()
        if (packed := summed.get(key))
    )
