"""How far a worker's flushes have come on the way to the cluster, read from the outbox.

    flush  --taken into-->  step  --applied to each tag in its own time-->  done everywhere

A page that was last touched by step 7 has every flush that was taken up to step 7. A flush that is
applied everywhere is dropped only when no older answer may still be used: cached answers lack the
flushes that came after them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Final

from oborona.counters.cluster.outbox import DONE_KEY, ID_KEY, NUMBER, TAKEN, TAKEN_KEY, U64
from oborona.counters.lmdb_store import LmdbReader, get_position

BEHIND_NUMBER: Final = len(TAKEN_KEY) + NUMBER.size


class SpoolProgress:
    """What the outbox said about one spool when it was last looked at.

    Args:
        reader: of the outbox.
        owner: of the spool.
        stale_s: so long answers from memory are used, seconds.
    """

    def __init__(self, reader: LmdbReader, owner: str, stale_s: float) -> None:
        self._reader = reader
        self._owner = owner.encode()
        self._stale_s = stale_s
        self.id = b""  # of the outbox; empty while there is none
        self._looked = 0  # the last step that was looked at
        self._steps: list[int] = []  # that flushes of this spool were taken into
        self._upto: list[int] = []  # the last flush taken into each
        self._floor = 0  # the last flush before those
        self._done: deque[tuple[float, int]] = deque()  # when, and up to which step all was done

    def look(self, now: float, oldest: float) -> int:
        """Look at the outbox; returns up to which flush nothing needs to be kept.

        Args:
            now: monotonic seconds.
            oldest: when those began who use answers now: these are `stale_s` older at most.

        Raises:
            StoreError: it cannot be read.
        """
        with self._reader.transaction() as txn:
            if txn is None:
                return self._floor
            outbox_id = txn.get(ID_KEY, b"")
            if outbox_id != self.id:
                self._begin(outbox_id)
            with txn.cursor() as cursor:
                more = cursor.set_range(TAKEN_KEY + NUMBER.pack(self._looked + 1))
                while more and cursor.key().startswith(TAKEN_KEY):
                    (self._looked,) = NUMBER.unpack_from(cursor.key(), len(TAKEN_KEY))
                    if cursor.key()[BEHIND_NUMBER:] == self._owner:
                        before, upto = TAKEN.unpack(cursor.value())
                        self._note(before, upto)
                    more = cursor.next()
            position = get_position(txn, self._owner.decode())
            if not self._steps and position is not None:
                self._floor = max(self._floor, position.sequence)  # taken, and kept no more
            (done,) = U64.unpack(txn.get(DONE_KEY, bytes(U64.size)))
        if not self._done or self._done[-1][1] != done:
            self._done.append((now, done))
        while len(self._done) > 1 and self._done[1][0] <= oldest - self._stale_s:
            self._done.popleft()
        if self._done[0][0] <= oldest - self._stale_s:
            self._forget(self._done[0][1])
        return self._floor

    def covered(self, step: int) -> int:
        """Return the last flush that a page has which was last touched by `step`."""
        place = bisect_right(self._steps, step)
        return self._upto[place - 1] if place else self._floor

    def _begin(self, outbox_id: bytes) -> None:
        """Another outbox took the place of the last one.

        What was on its way is not known any more.
        """
        self.id = outbox_id
        self._looked = 0
        self._steps, self._upto = [], []
        self._done.clear()

    def _note(self, before: int, upto: int) -> None:
        if not self._steps:
            self._floor = max(self._floor, before)
        self._steps.append(self._looked)
        self._upto.append(upto)

    def _forget(self, done: int) -> None:
        place = bisect_right(self._steps, done)
        if place:
            self._floor = self._upto[place - 1]
            del self._steps[:place], self._upto[:place]
