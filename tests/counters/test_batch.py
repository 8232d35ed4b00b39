"""A flush as bytes. The invariant: any bytes are a whole record, torn, damaged, or a newer version.

Nothing else.
"""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters import batch, record
from oborona.counters.batch import HEADER_BYTES, START, DamagedRecord, TornRecord
from oborona.counters.buffer import AddBuffer, cells_of
from oborona.errors import StoreVersion
from oborona.types import Amounts, CounterPrefix, Shingle

NOON = 20_000 * 86_400 + 43_200.0


def key(kind: int, number: int, prefix: CounterPrefix = CounterPrefix.IN) -> bytes:
    return record.key_of(Shingle(kind, number), prefix)


def filled() -> AddBuffer:
    buffer = AddBuffer()
    buffer.add(
        [key(8, 1), key(75, 2**64 - 1)],
        [(key(30, 5), key(31, 6))],
        Amounts(1, 0, 0, 0, 0, 300),
        NOON,
    )
    buffer.add([key(8, 1, CounterPrefix.OUT)], [], Amounts(reads=2**63 - 1), NOON + 600)
    return buffer


def test_a_flush_comes_back_as_it_went() -> None:
    data = batch.encode(filled(), 7, NOON)
    one = batch.decode(data)
    assert (one.sequence, one.time, one.end) == (7, NOON, len(data))
    some, other, both = key(8, 1), key(75, 2**64 - 1), key(30, 5)
    bucket = int(NOON // 600)
    held = [
        (
            segment.bucket,
            sorted(
                zip(
                    batch.split_keys(segment.keys.tobytes()),
                    [cell.to_bytes(8, "little") for cell in segment.cells.tolist()],
                    strict=True,
                )
            ),
        )
        for segment in one.segments
    ]
    cells = record.cells([1, 0, 0, 0, 0, 300], bucket)
    heavy, light = cells[:8], cells[8:]
    first = sorted(
        [
            (some, heavy),
            (some, light),
            (other, heavy),
            (other, light),
            (both, record.cells([1] + [0] * 5, bucket)),
        ]
    )
    large = record.cells([0, 0, 0, 0, 2**63 - 1, 0], bucket + 1)
    out = key(8, 1, CounterPrefix.OUT)
    second = sorted((out, large[at : at + 8]) for at in range(0, len(large), 8))
    assert held == [(bucket, first), (bucket + 1, second)]
    assert one.pairs == [(both, key(31, 6), bucket)]


def test_every_cut_is_torn() -> None:
    data = batch.encode(filled(), 1, NOON)
    for size in range(len(data)):
        with pytest.raises(TornRecord):
            batch.decode(data[:size])


def test_every_turned_bit_is_found() -> None:
    data = batch.encode(filled(), 1, NOON)
    for place in range(len(data) * 8):
        broken = bytearray(data)
        broken[place // 8] ^= 1 << place % 8
        if 4 * 8 <= place < 6 * 8:
            continue  # the version, below
        with pytest.raises((TornRecord, DamagedRecord)):
            batch.decode(bytes(broken))


def test_a_newer_version_is_not_guessed_at() -> None:
    data = bytearray(batch.encode(filled(), 1, NOON))
    struct.pack_into("<H", data, 4, batch.VERSION + 1)
    with pytest.raises(StoreVersion, match=f"version {batch.VERSION + 1}"):
        batch.decode(bytes(data))


@pytest.mark.parametrize("change", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 2**31, 0)])
def test_counts_that_do_not_fit_are_damage_even_with_a_right_checksum(
    change: tuple[int, int, int],
) -> None:
    data = bytearray(batch.encode(filled(), 1, NOON))
    magic, version, segments, length, _ = START.unpack_from(data)
    sequence, time, entries, pairs = batch.REST.unpack_from(data, START.size)
    batch.REST.pack_into(
        data, START.size, sequence, time, (entries + change[1]) % 2**32, pairs + change[2]
    )
    checksum = zlib.crc32(memoryview(data)[START.size :])
    START.pack_into(data, 0, magic, version, segments + change[0], length, checksum)
    with pytest.raises(DamagedRecord, match="differ"):
        batch.decode(bytes(data))


@given(st.binary(max_size=300), st.binary(max_size=60), st.integers(0, 400), st.booleans())
def test_any_bytes_are_a_record_or_say_what_they_are(
    noise: bytes, head: bytes, cut: int, whole: bool
) -> None:
    data = (batch.encode(filled(), 1, NOON)[:cut] if whole else batch.MAGIC + head) + noise
    for offset in (0, 1, len(data)):
        try:
            one = batch.decode(data, offset)
        except (TornRecord, DamagedRecord, StoreVersion):
            continue
        assert offset + HEADER_BYTES <= one.end <= len(data)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_the_next_record_is_found_behind_damage(before: bytes, after: bytes) -> None:
    data = b"x" + before.replace(b"O", b"o") + batch.MAGIC + after
    assert batch.resume(data, 0) == 1 + len(before)
    assert batch.resume(before.replace(b"O", b"o"), 0) == len(before)


def test_a_full_buffer_turns_new_keys_away_and_goes_on_with_known_ones() -> None:
    buffer = AddBuffer(limit=10)
    for number in range(30):
        buffer.add([key(1, number)], [], Amounts(seen=1), NOON)
    buffer.add([key(1, 0), key(1, 9)], [(key(30, 1), key(31, 1))], Amounts(seen=1), NOON)
    assert (buffer.entries, buffer.dropped) == (10, 21)
    [summed] = buffer.counts.values()
    assert sorted(summed.values()) == [1] * 8 + [2] * 2


def test_many_large_amounts_do_not_run_into_their_neighbours() -> None:
    buffer = AddBuffer()
    for amounts in [Amounts(seen=2**63 - 1, spam=1)] * 3 + [Amounts(seen=2**32 - 1)] * 1000:
        buffer.add([key(1, 1)], [], amounts, NOON)
    bucket = int(NOON // 600)
    assert cells_of(buffer.counts[bucket][key(1, 1)], bucket) == record.cells(
        [2**63 - 1, 3, 0, 0, 0, 0], bucket
    )


def test_what_is_forgotten_comes_before_what_is_added() -> None:
    buffer = AddBuffer()
    buffer.forget(key(1, 1))
    buffer.forget(key(1, 1))
    buffer.add([key(1, 1), key(1, 2)], [], Amounts(seen=1), NOON)
    assert buffer.entries == 3
    one = batch.decode(batch.encode(buffer, 1, NOON))
    assert one.forgotten == [key(1, 1)]
    assert [len(segment.keys) for segment in one.segments] == [2]
    with pytest.raises(ValueError, match="before what is added"):
        buffer.forget(key(1, 3))
