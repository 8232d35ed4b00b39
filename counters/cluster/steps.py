"""One step of an outbox as bytes: what each tag is sent. Batches in, bytes out; no file and no socket here.

    step      shares, u16; then for each: tag u8, step that must have been the last one of this tag u64, pages u16,
              length of the body u32, two bytes for each page, the body
    body      what the function of `pages.lua` takes: what a page gains, forgets and which pairs it decides

A step is kept as these bytes until it is certain that the cluster has it, and sent again as these bytes: what is sent
under one number is the same each time, whoever sends it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from oborona.counters.batch import Batch
from oborona.counters.cluster.layout import APPLIED_KEYS, FIRST_HASH_BYTE, OPENINGS, field_of
from oborona.counters.record import CELL_BYTES
from oborona.counters.summed import summed

HEAD: Final = struct.Struct("<8siBH")  # id of the outbox, current bucket, whether it is believed, parts
COUNTS: Final = struct.Struct("<III")  # of a part: forgets, adds, pairs
FORGET: Final = struct.Struct("<H8s")
ADD: Final = struct.Struct("<H8sH")
PAIR: Final = struct.Struct("<IIi")
SHARES: Final = struct.Struct("<H")
SHARE: Final = struct.Struct("<BQHI")
ORDER: Final = struct.Struct("<QQ")
PAGE_BYTES: Final = 2


class Share(msgspec.Struct, frozen=True):
    """What one step has for one tag."""

    tag: int
    before: int  # the step before this one that had something for the tag
    pages: bytes  # two bytes each
    body: bytes

    def arguments(self, function: bytes, step: int, before: int) -> tuple[bytes | int, ...]:
        """Return the command that applies it, if `before` was the last step applied."""
        opening = OPENINGS[self.tag]
        pages = [opening + self.pages[at : at + PAGE_BYTES] for at in range(0, len(self.pages), PAGE_BYTES)]
        return (
            b"FCALL",
            function,
            1 + len(pages),
            APPLIED_KEYS[self.tag],
            *pages,
            self.body,
            ORDER.pack(before, step),
        )


class Made(msgspec.Struct, frozen=True):
    """Batches as a step."""

    shares: list[Share]
    foreign: int  # counts left out: their time is over half a year from now
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
    batches: Sequence[Batch], reference: int, befores: Sequence[int], outbox: bytes, *, believed: bool
) -> Made:
    """Return what batches add up to, by tag.

    Args:
        batches: in the order of their spools.
        reference: the current ten-minute bucket.
        befores: by tag, the last step that had something for it.
        outbox: its id.
        believed: whether what is out of the windows at `reference` may be dropped.
    """
    tags: dict[int, _Tag] = {}
    foreign = parted = 0
    for forgets, run in groupby(batches, lambda one: bool(one.forgotten)):
        for part in ([one] for one in run) if forgets else (list(run),):
            touched: set[int] = set()
            left_out, apart = _gather(part, reference, tags, touched)
            foreign += left_out
            parted += apart
            for tag in touched:
                tags[tag].end_part()
    shares = [
        Share(
            tag,
            befores[tag],
            b"".join(one.pages),
            HEAD.pack(outbox, reference, believed, len(one.parts)) + b"".join(one.parts),
        )
        for tag, one in sorted(tags.items())
    ]
    return Made(shares, foreign, parted)


def _gather(
    part: Sequence[Batch], reference: int, tags: dict[int, _Tag], touched: set[int]
) -> tuple[int, int]:
    def of(key: bytes) -> _Tag:
        tag = key[FIRST_HASH_BYTE]
        touched.add(tag)
        one = tags.get(tag)
        if one is None:
            one = tags[tag] = _Tag()
        return one

    for batch in part:
        for key in batch.forgotten:
            of(key).forget(key)
    total = summed(part, reference)
    for key, cells in zip(total.key_bytes(), total.deltas(), strict=True):
        of(key).add(key, cells)
    parted = 0
    for both, distinct, bucket in total.pairs:
        if both[FIRST_HASH_BYTE] == distinct[FIRST_HASH_BYTE]:
            of(both).pair(both, distinct, bucket)
        else:
            parted += 1
    return total.foreign, parted


def encode(shares: Sequence[Share]) -> bytes:
    """Return a step as it is kept."""
    found = [SHARES.pack(len(shares))]
    for one in shares:
        found += [
            SHARE.pack(one.tag, one.before, len(one.pages) // PAGE_BYTES, len(one.body)),
            one.pages,
            one.body,
        ]
    return b"".join(found)


def decode(step: bytes, wanted: Iterable[int] | None = None) -> Iterator[Share]:
    """Yield the shares of a step that is kept, of these tags alone if they are given."""
    tags = None if wanted is None else set(wanted)
    (count,) = SHARES.unpack_from(step)
    at = SHARES.size
    for _ in range(count):
        tag, before, pages, length = SHARE.unpack_from(step, at)
        at += SHARE.size
        body = at + pages * PAGE_BYTES
        if tags is None or tag in tags:
            yield Share(tag, before, step[at:body], step[body : body + length])
        at = body + length
