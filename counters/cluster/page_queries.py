"""Reads the records of some keys from the cluster, with one query to each page.

A query returns the page's records, its shingles seen once, and the last step of our outbox that
touched it. Answers are cached for a while.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from oborona.counters.cluster.answer_cache import PageAnswer, PageAnswerCache
from oborona.counters.cluster.client import ClusterClient, Question
from oborona.counters.cluster.layout import APPLIED, FIRST_HASH_BYTE, SLOT_OF_TAG, field_of, page_of
from oborona.counters.cluster.progress import SpoolProgress
from oborona.counters.cluster.wire import Reply, pack
from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, RING

# Shingles seen once, as their page keeps them: a field beside the records, made and read by
# `pages.lua`, and read here.
#
#     field "d"   slots in the order they came, 4 bytes each: print u16, ten-minute bucket mod 2^16
#                 u16, little-endian
#     print       prefix and type, and the last 16 bits of the hash, added modulo 2^16; the page's
#                 name says 18 others
#
# A key without a record whose only count is one `seen` gets a slot at the end. When it comes again,
# its sighting goes into a record and the slot is taken out. So nothing is approximate but this:
#
#     full   of more than SLOTS the oldest goes: the count of its key is one low
#     alike  a new key finds another's print by chance, one in 65,536 for each slot: it counts one
#            too many, the other one too few
#
# A shingle that is the first half of a unique pair is not looked for here: pairs stay exact.

DOOR: Final = b"d"
SLOT: Final = struct.Struct("<HH")
SLOTS: Final = 128  # of a page; as in pages.lua
PRINTS: Final = 1 << 16
BUCKETS: Final = 1 << 16  # a ring of 455 days
ONE_SEEN: Final = 1
PRINT_PARTS: Final = struct.Struct(">H6xH")  # of a key


def sighting(slots: bytes, key: bytes, reference: int) -> bytes:
    """Return the cell of a key's one sighting; empty when there is none.

    Args:
        slots: of its page.
        key: without a record.
        reference: a bucket less than 227 days from it.
    """
    head, low = PRINT_PARTS.unpack(key)
    fingerprint = ((head + low) % PRINTS).to_bytes(2, "little")
    at = slots.find(fingerprint)
    while at >= 0 and at % SLOT.size:
        at = slots.find(fingerprint, at + 1)
    if at < 0:
        return b""
    place: int = SLOT.unpack_from(slots, at)[1]
    bucket = reference - ((reference - place + BUCKETS // 2) % BUCKETS - BUCKETS // 2)
    return (bucket % RING << BUCKET_SHIFT | ONE_SEEN).to_bytes(CELL_BYTES, "little")


class ClusterPage(msgspec.Struct):
    """Keys that lie in one page."""

    name: bytes
    slot: int
    keys: list[bytes]

    def words(self, outbox: bytes) -> tuple[bytes, ...]:
        """Return the command that asks for them."""
        return (b"HMGET", self.name, APPLIED + outbox, DOOR, *map(field_of, self.keys))


def pages_of(keys: Iterable[bytes]) -> list[ClusterPage]:
    """Return the pages of keys, in the order of the first key of each."""
    pages: dict[bytes, ClusterPage] = {}
    for key in keys:
        name = page_of(key)
        page = pages.get(name)
        if page is None:
            page = pages[name] = ClusterPage(name, SLOT_OF_TAG[key[FIRST_HASH_BYTE]], [])
        page.keys.append(key)
    return list(pages.values())


def answer_of(
    page: ClusterPage, reply: Reply, reference: int, halves: Collection[bytes] = ()
) -> tuple[int, list[bytes]] | None:
    """Return the step that a page was last touched by, and the cells of its keys.

    None when it is no answer.

    Args:
        page: that was asked.
        reply: to its `words`.
        reference: the current bucket.
        halves: first halves of unique pairs, which have records or nothing.
    """
    if not isinstance(reply, list):
        return None
    step, slots, *records = reply
    if slots is not None:
        records = [
            cells or (sighting(slots, key, reference) if key not in halves else b"")
            for key, cells in zip(page.keys, records, strict=True)
        ]
    return int(step or 0), [cells or b"" for cells in records]


class PageCells:
    """What one round trip found."""

    __slots__ = ("_progress", "answers", "missing")

    def __init__(self, progress: SpoolProgress) -> None:
        self.answers: dict[bytes, PageAnswer] = {}
        self.missing = 0  # keys that were asked for and not answered
        self._progress = progress

    def cells(self, key: bytes) -> bytes:
        """Return a key's record; empty when there is none."""
        answer = self.answers.get(key)
        return answer.cells if answer is not None else b""

    def after(self, key: bytes) -> int:
        """Return the last of our flushes that is in the answer."""
        answer = self.answers.get(key)
        return self._progress.covered(answer.step if answer is not None else 0)


class PageQueries:
    """A worker's questions to the cluster.

    Args:
        nodes: of the cluster.
        progress: of the worker's spool.
        recent: the last answers.

    Attributes:
        done: the last flush that needs not be kept any more.
    """

    def __init__(
        self, nodes: ClusterClient, progress: SpoolProgress, recent: PageAnswerCache
    ) -> None:
        self._nodes = nodes
        self._progress = progress
        self._recent = recent
        # when each round began that is not over, monotonic seconds
        self._under_way: list[float] = []
        self.done = 0

    async def ask(
        self, keys: Collection[bytes], halves: Mapping[bytes, bytes], reference: int
    ) -> PageCells:
        """Return what the cluster has of keys; what is not answered for is counted as missing.

        Args:
            keys: any, duplicates allowed.
            halves: first halves of unique pairs whose records are wanted as well, P → U; each U is
                among the keys.
            reference: the current bucket.

        Raises:
            StoreError: the outbox cannot be read.
        """
        while True:
            if not self._progress.id:
                self._look()
            outbox = self._progress.id
            began = time.monotonic()
            self._under_way.append(began)
            try:
                stored = await self._round(keys, halves, reference, began)
            finally:
                self._under_way.remove(began)
            if self._progress.id == outbox:
                return stored
            # begun, or begun anew: what pages say of the other one is of no use
            self._recent.clear()

    def _look(self) -> None:
        """Look at the outbox.

        However long a round takes, what it uses may be as old as when it began.
        """
        now = time.monotonic()
        self.done = self._progress.look(now, min(self._under_way, default=now))

    async def _round(
        self, keys: Collection[bytes], halves: Mapping[bytes, bytes], reference: int, now: float
    ) -> PageCells:
        stored = PageCells(self._progress)
        # pairs first: a node answers in order, so a page of P that has a flush tells that a page of
        # U has it, too
        asked_for = dict.fromkeys((*halves, *keys))
        remembered = {
            key: answer for key in asked_for if (answer := self._recent.get(key, now)) is not None
        }
        for both, distinct in halves.items():  # and so it must be with what is remembered
            if distinct in remembered and (
                both not in remembered or remembered[both].time > remembered[distinct].time
            ):
                del remembered[distinct]
        stored.answers.update(remembered)
        unknown = [key for key in asked_for if key not in remembered]
        outbox = self._progress.id
        pages = pages_of(unknown)
        questions: list[Question] = [(page.slot, pack(page.words(outbox))) for page in pages]
        replies = await self._nodes.ask(questions) if questions else []
        self._look()
        counted = set(keys)
        for page, reply in zip(pages, replies, strict=True):
            answered = answer_of(page, reply, reference, halves)
            if answered is not None:
                step, records = answered
                for key, cells in zip(page.keys, records, strict=True):
                    stored.answers[key] = self._recent.put(key, PageAnswer(now, cells, step))
            else:
                stored.missing += sum(key in counted for key in page.keys)
                stored.answers |= {key: old for key in page.keys if (old := self._recent.last(key))}
        return stored
