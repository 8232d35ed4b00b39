"""The packed record of one shingle: a bag of 8-byte cells, each some counts of one bucket.

    key    1 byte prefix, 1 byte type, 8 bytes hash, big-endian
    value  little-endian cells; whatever their order, what they mean is their sum

    bits 63..47  ten-minute bucket mod 2^17 (a ring of 910 days, so that age is plain for 455 days
                 either way)
    bit  46      day cell (the bucket is the day's first)
    bits 45..42  level: 0..8: the six counts are digits of weight 128^level; nine levels make 2^63-1
                 exactly 9..15: what is taken back, digits of weight 128^(level-9); seven levels
                 make 2^49-1
    bits 41..0   six counts of 7 bits, `Metric` order from the low end

A shingle seen once costs one cell. An add goes into the last cell when that is its bucket and no
digit overflows; else a cell is appended, and each 16 cells the record is tidied: equal buckets
summed, ten-minute cells older than a day folded into day cells, days out of the window dropped. Up
to 16 cells of slack therefore bound the record, not its truth. What is taken back is netted at
once; it stays a cell of its own only while there is less to take it from, as when it overtook its
add in another worker's spool, and reads count that as 0. Ten-minute cells outlive their day by an
hour and day cells their fortnight by a day, so that reads stay exact while a clock is set back by
less than an hour. Writing is here; `decode.py` reads many records at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from oborona.counters.window import (
    BUCKETS_A_DAY,
    DAYS,
    METRICS,
    MOST_TAKEN,
    SATURATED,
    Counts,
    day_of,
)
from oborona.types import CounterPrefix, Shingle

PREFIXES: Final = {
    CounterPrefix.IN: 1,
    CounterPrefix.OUT: 2,
    CounterPrefix.GREY: 3,
    CounterPrefix.REFUSED: 4,
    CounterPrefix.FIRST: 5,
    CounterPrefix.DELETED: 6,
    CounterPrefix.RECIPIENTS: 7,
    CounterPrefix.OCTETS: 8,
    CounterPrefix.SENT: 9,
    CounterPrefix.NEW_RECIPIENTS: 10,
    CounterPrefix.FLOW_PACKETS: 20,
    CounterPrefix.FLOW_OCTETS: 21,
    CounterPrefix.FLOW_STREAMS: 22,
}  # 0 is the store's own bookkeeping, which sorts first
KEY: Final = struct.Struct(">BBQ")
KEY_BYTES: Final = KEY.size
HEADS: Final = {
    number: tuple(bytes((number, kind)) for kind in range(256)) for number in PREFIXES.values()
}
"""The first two bytes of a key, by prefix's number and type: with a hash behind it a key takes two
thirds of the time of `KEY.pack`.
"""
HASH_BYTES: Final = KEY_BYTES - 2
CELL_BYTES: Final = 8

BUCKET_SHIFT: Final = 47
RING: Final = 1 << 17
DAY_BIT: Final = 1 << 46
LEVEL_SHIFT: Final = 42
LEVEL: Final = 0xF  # of a cell, shifted
LEVELS: Final = 9  # those above take back
DIGIT_BITS: Final = 7
DIGIT: Final = (1 << DIGIT_BITS) - 1
COUNTS: Final = (1 << LEVEL_SHIFT) - 1
TOP_BITS: Final = sum(1 << (DIGIT_BITS * metric + DIGIT_BITS - 1) for metric in range(METRICS))

FINE_BUCKETS: Final = BUCKETS_A_DAY + 6  # ten-minute cells kept
DAYS_KEPT: Final = DAYS + 1  # day cells kept
FUTURE_BUCKETS: Final = BUCKETS_A_DAY  # cells further ahead come from a clock that was wrong
FOREIGN_BUCKETS: Final = RING // 4  # an add so far from now cannot be told from others on the ring
TIDY_BYTES: Final = 16 * CELL_BYTES
LEVEL_BYTE: Final = 5  # of a cell as it lies: the level is in the middle of it
TAKES: Final = bytes(byte >> 2 & LEVEL >= LEVELS for byte in range(256))  # by that byte


def key_of(shingle: Shingle, prefix: CounterPrefix) -> bytes:
    """Return the key of a shingle's record; keys sort by prefix, type, hash."""
    return KEY.pack(PREFIXES[prefix], *shingle)


def counter_keys(prefix: int, shingles: Sequence[Shingle], /) -> list[bytes]:
    """Return the keys of shingles, in their order.

    The twin of the native core's.

    Args:
        prefix: its number.
        shingles: any number.
    """
    heads = HEADS[prefix]
    return [heads[kind] + value.to_bytes(HASH_BYTES) for kind, value in shingles]


def cells(counts: Counts, bucket: int, *, day: bool = False, taken: bool = False) -> bytes:
    """Return the cells that hold `counts`, heaviest digits first; none when all are zero.

    Args:
        counts: [Metric], each 0..2^63-1; of what is taken 0..2^49-1.
        bucket: absolute number, or its place on the ring; for a day its first.
        day: whether they are a day's.
        taken: whether they are taken back.
    """
    head = (bucket % RING) << BUCKET_SHIFT | (DAY_BIT if day else 0)
    parts = []
    level, rest = LEVELS if taken else 0, list(counts)
    while any(rest):
        digits = sum((count & DIGIT) << (DIGIT_BITS * metric) for metric, count in enumerate(rest))
        if digits:
            parts.append((head | level << LEVEL_SHIFT | digits).to_bytes(CELL_BYTES, "little"))
        rest = [count >> DIGIT_BITS for count in rest]
        level += 1
    return b"".join(reversed(parts))


def unpack(record: bytes) -> tuple[int, ...]:
    """Return the cells of a record, as they lie."""
    return struct.unpack(f"<{len(record) // CELL_BYTES}Q", record)


def counts_of(cell: int) -> list[int]:
    """Return [Metric] of one cell; below zero when it takes back."""
    level = cell >> LEVEL_SHIFT & LEVEL
    if level >= LEVELS:
        weight = (level - LEVELS) * DIGIT_BITS
        return [-((cell >> (DIGIT_BITS * metric) & DIGIT) << weight) for metric in range(METRICS)]
    weight = level * DIGIT_BITS
    return [(cell >> (DIGIT_BITS * metric) & DIGIT) << weight for metric in range(METRICS)]


def takes(record: bytes) -> bool:
    """Whether a record has a cell that takes back."""
    return 1 in record[LEVEL_BYTE::CELL_BYTES].translate(TAKES)


def split(record: bytes, reference: int) -> Iterator[tuple[bool, int, list[int]]]:
    """Yield (is a day, absolute first bucket, [Metric]) for each cell.

    `reference` is a bucket near their time.
    """
    for cell in unpack(record):
        bucket = absolute(cell >> BUCKET_SHIFT, reference)
        yield bool(cell & DAY_BIT), bucket, counts_of(cell)


def absolute(place: int, reference: int) -> int:
    """Return the bucket nearest to `reference` that has this place on the ring."""
    return reference - ((reference - place + RING // 2) % RING - RING // 2)


def add(record: bytes, cell: bytes) -> bytes:
    """Return the record with one more cell in it: summed into the last one if they match, else
    appended.
    """
    last, new = int.from_bytes(record[-CELL_BYTES:], "little"), int.from_bytes(cell, "little")
    if last >> LEVEL_SHIFT == new >> LEVEL_SHIFT:
        have, more = last & COUNTS, new & COUNTS
        merged = have + more
        # no digit carries into its neighbour
        if not (have & more | (have | more) & ~merged) & TOP_BITS:
            return record[:-CELL_BYTES] + (last + more).to_bytes(CELL_BYTES, "little")
    return record + cell


def merge(record: bytes, delta: bytes, reference: int | None) -> bytes:
    """Return the record with the cells of `delta` added, tidied each time it has grown by 16 cells,
    or is taken from.

    Args:
        record: may be empty.
        delta: a record too, usually of one cell.
        reference: the current bucket; None while the clock is not believed, then nothing is folded
            or dropped.
    """
    if len(delta) == CELL_BYTES:
        merged = add(record, delta)
    else:
        merged = record
        for at in range(0, len(delta), CELL_BYTES):
            merged = add(merged, delta[at : at + CELL_BYTES])
    if len(merged) // TIDY_BYTES != len(record) // TIDY_BYTES or takes(delta):
        return tidy(merged, reference)
    return merged


def tidy(record: bytes, reference: int | None) -> bytes:
    """Return the record at its smallest: days first, then ten-minute buckets, oldest first.

    Empty if all is out.

    Without a reference equal buckets are summed, and all stay what and where they are.
    """
    sums: dict[tuple[bool, int], list[int]] = {}
    if reference is None:
        for cell in unpack(record):
            _sum_into(sums, (bool(cell & DAY_BIT), cell >> BUCKET_SHIFT), counts_of(cell))
        return b"".join(_netted(counts, bucket, day=day) for (day, bucket), counts in sums.items())
    today = day_of(reference)
    for day, bucket, counts in split(record, reference):
        if day_of(bucket) <= today - DAYS_KEPT or bucket > reference + FUTURE_BUCKETS:
            continue
        folded = day or bucket <= reference - FINE_BUCKETS
        _sum_into(sums, (folded, day_of(bucket) * BUCKETS_A_DAY if folded else bucket), counts)
    order = sorted(sums, key=lambda place: (not place[0], place[1]))
    return b"".join(_netted(sums[day, bucket], bucket, day=day) for day, bucket in order)


def _sum_into(
    sums: dict[tuple[bool, int], list[int]], place: tuple[bool, int], counts: list[int]
) -> None:
    have = sums.get(place)
    sums[place] = counts if have is None else [a + b for a, b in zip(have, counts, strict=True)]


def _netted(counts: list[int], bucket: int, *, day: bool) -> bytes:
    """Return the cells of sums, those above zero first."""
    if min(counts) >= 0 and max(counts) <= SATURATED:  # nearly all of them
        return cells(counts, bucket, day=day)
    return cells([min(max(count, 0), SATURATED) for count in counts], bucket, day=day) + cells(
        [min(max(-count, 0), MOST_TAKEN) for count in counts], bucket, day=day, taken=True
    )


def seen_in_day(record: bytes, day: int) -> bool:
    """Whether the record counts anything seen in that day; what decides a unique pair."""
    reference = day * BUCKETS_A_DAY
    for cell in reversed(unpack(record)):
        if (
            cell & DIGIT
            and cell >> LEVEL_SHIFT & LEVEL < LEVELS
            and day_of(absolute(cell >> BUCKET_SHIFT, reference)) == day
        ):
            return True
    return False


def problem(key: bytes, record: bytes) -> str:
    """Return what is wrong with a stored record, in a few words; empty when it is sound."""
    if len(key) != KEY_BYTES or key[0] not in PREFIXES.values():
        return "not a key of ours"
    if not record or len(record) % CELL_BYTES:
        return f"{len(record)} bytes are no whole cells"
    for cell in unpack(record):
        if not cell & COUNTS:
            return "a cell that counts nothing"
    return ""
