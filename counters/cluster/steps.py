"""One step of an outbox as bytes: what each tag is sent. Batches in, bytes out.

No file and no socket here.

    step      Unix time it was made at, f64; shares, u16; then for each: tag u8, step that must have
              been the last one of this tag u64, pages u16, length of the body u32, two bytes for
              each page, the body
    body      what the function of `pages.lua` takes: what a page gains, forgets and which pairs it
              decides

A step is kept as these bytes until it is certain that the cluster has it, and sent again as these
bytes: what is sent under one number is the same each time, whoever sends it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from oborona.counters.batch import SpoolBatch
from oborona.counters.batch_sums import sum_batches
from oborona.counters.cluster.layout import APPLIED_KEYS, FIRST_HASH_BYTE, OPENINGS, field_of
from oborona.counters.merge import AppliedBatches
from oborona.counters.record import CELL_BYTES

HEAD: Final = struct.Struct("<8siBH")  # id of the outbox, current bucket, flags, parts
BELIEVED: Final = 1
DOORKEEPER: Final = 2
COUNTS: Final = struct.Struct("<III")  # of a part: forgets, adds, pairs
FORGET: Final = struct.Struct("<H8s")
ADD: Final = struct.Struct("<H8sH")
PAIR: Final = struct.Struct("<IIi")
STEP: Final = struct.Struct("<dH")
SHARE: Final = struct.Struct("<BQHI")
ORDER: Final = struct.Struct("<QQ")
PAGE_BYTES: Final = 2


class TagShare(msgspec.Struct, frozen=True):
    """What one step has for one tag."""

    tag: int
    before: int  # the step before this one that had something for the tag
    pages: bytes  # two bytes each
    body: bytes

    def arguments(self, function: bytes, step: int, before: int) -> tuple[bytes | int, ...]:
        """Return the command that applies it, if `before` was the last step applied."""
        opening = OPENINGS[self.tag]
        pages = [
            opening + self.pages[at : at + PAGE_BYTES]
            for at in range(0, len(self.pages), PAGE_BYTES)
        ]
        return (
            b"FCALL",
            function,
            1 + len(pages),
            APPLIED_KEYS[self.tag],
            *pages,
            self.body,
            ORDER.pack(before, step),
        )


class StepContents(msgspec.Struct, frozen=True):
    """Batches as a step."""

    shares: list[TagShare]
    parts: list[AppliedBatches]  # what they were
    parted: int  # pairs left out: the hashes of the two begin differently


class _Tag:
    """What gathers for one tag."""

    __slots__ = ("adds", "count", "forgets", "pages", "pairs", "parts", "places")

    def __init__(self) -> None:
        self.pages: dict[bytes, int] = {}
        self.parts: list[bytes] = []
        self._begin()

    def _begin(self) -> None:
        self.forgets: list[bytes] = []
        self.adds: list[bytes] = []
        self.pairs: list[bytes] = []
        self.places: dict[bytes, int] = {}  # key → its place among the adds, from 1

    def page(self, key: bytes) -> int:
        page = bytes((key[3], key[4] & 0xC0))
        return self.pages.setdefault(page, len(self.pages) + 1)

    def forget(self, key: bytes) -> None:
        self.forgets.append(FORGET.pack(self.page(key), field_of(key)))

    def add(self, key: bytes, cells: bytes) -> int:
        self.adds.append(ADD.pack(self.page(key), field_of(key), len(cells) // CELL_BYTES) + cells)
        place = self.places[key] = len(self.adds)
        return place

    def pair(self, both: bytes, distinct: bytes, bucket: int) -> None:
        places = [self.places.get(key) or self.add(key, b"") for key in (both, distinct)]
        self.pairs.append(PAIR.pack(*places, bucket))

    def end_part(self) -> None:
        counts = COUNTS.pack(len(self.forgets), len(self.adds), len(self.pairs))
        self.parts.append(b"".join([counts, *self.forgets, *self.adds, *self.pairs]))
        self._begin()


def make(
    batches: Sequence[SpoolBatch],
    reference: int,
    befores: Sequence[int],
    outbox: bytes,
    *,
    believed: bool,
    doorkeeper: bool = False,
) -> StepContents:
    """Return what batches add up to, by tag.

    Args:
        batches: in the order of their spools.
        reference: the current ten-minute bucket.
        befores: by tag, the last step that had something for it.
        outbox: its id.
        believed: whether what is out of the windows at `reference` may be dropped.
        doorkeeper: whether what is seen once gets no record.
    """
    flags = BELIEVED * believed | DOORKEEPER * doorkeeper
    tags: dict[int, _Tag] = {}
    parts: list[AppliedBatches] = []
    parted = 0
    for forgets, run in groupby(batches, lambda batch: bool(batch.forgotten)):
        for part in ([batch] for batch in run) if forgets else (list(run),):
            total = sum_batches(part, reference)
            parts.append(AppliedBatches([key for batch in part for key in batch.forgotten], total))
            parted += _gather(parts[-1], tags)
    shares = [
        TagShare(
            tag,
            befores[tag],
            b"".join(share.pages),
            HEAD.pack(outbox, reference, flags, len(share.parts)) + b"".join(share.parts),
        )
        for tag, share in sorted(tags.items())
    ]
    return StepContents(shares, parts, parted)


def _gather(part: AppliedBatches, tags: dict[int, _Tag]) -> int:
    """Divide a part among tags; returns how many pairs are left out."""
    touched: set[int] = set()

    def of(key: bytes) -> _Tag:
        tag = key[FIRST_HASH_BYTE]
        touched.add(tag)
        share = tags.get(tag)
        if share is None:
            share = tags[tag] = _Tag()
        return share

    for key in part.forgotten:
        of(key).forget(key)
    for key, cells in zip(part.total.key_bytes(), part.total.deltas(), strict=True):
        of(key).add(key, cells)
    parted = 0
    for both, distinct, bucket in part.total.pairs:
        if both[FIRST_HASH_BYTE] == distinct[FIRST_HASH_BYTE]:
            of(both).pair(both, distinct, bucket)
        else:
            parted += 1
    for tag in touched:
        tags[tag].end_part()
    return parted


def encode(shares: Sequence[TagShare], now: float) -> bytes:
    """Return a step as it is kept, made at Unix time `now`."""
    parts = [STEP.pack(now, len(shares))]
    for share in shares:
        parts += [
            SHARE.pack(share.tag, share.before, len(share.pages) // PAGE_BYTES, len(share.body)),
            share.pages,
            share.body,
        ]
    return b"".join(parts)


def decode(step: bytes, only: Iterable[int] | None = None) -> Iterator[TagShare]:
    """Yield the shares of a step that is kept, of these tags alone if they are given."""
    tags = None if only is None else set(only)
    _time, count = STEP.unpack_from(step)
    at = STEP.size
    for _ in range(count):
        tag, before, pages, length = SHARE.unpack_from(step, at)
        at += SHARE.size
        body = at + pages * PAGE_BYTES
        if tags is None or tag in tags:
            yield TagShare(tag, before, step[at:body], step[body : body + length])
        at = body + length


def made_at(step: bytes) -> float:
    """Return the Unix time at which a step that is kept was made."""
    time: float = STEP.unpack_from(step)[0]
    return time
