"""What windows of records add up is the same in the native core and in Python, whatever the records
and the doorkeeper hold.
"""

from __future__ import annotations

import gc
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oborona.counters import core as chosen
from oborona.counters import doorkeeper, record
from oborona.counters.doorkeeper import WAYS
from oborona.counters.record import KEY_BYTES, PREFIXES, RING
from oborona.counters.record_windows import window_totals
from oborona.counters.rows import NOTHING
from oborona.counters.window import MOST_TAKEN, SATURATED, bucket_of
from oborona.types import CounterPrefix, Shingle

from .conftest import NOON

core: Any = pytest.importorskip("oborona._core")

BUCKET = bucket_of(NOON)
KEY = record.key_of(Shingle(8, 1), CounterPrefix.IN)

BUCKETS = st.integers(BUCKET - 3 * RING, BUCKET + 3 * RING) | st.integers(
    BUCKET - 2200, BUCKET + 300
)
AMOUNTS = st.integers(0, 3) | st.integers(0, SATURATED)
CELLS = st.one_of(
    st.integers(0, (1 << 64) - 1),  # whatever lies there
    st.builds(
        lambda bucket, rest: (bucket % RING) << record.BUCKET_SHIFT | rest,
        BUCKETS,
        st.integers(0, (1 << record.BUCKET_SHIFT) - 1),
    ),
).map(lambda cell: struct.pack("<Q", cell))
WRITTEN = st.builds(
    record.cells, st.lists(AMOUNTS, min_size=6, max_size=6), BUCKETS, day=st.booleans()
)
TAKEN = st.builds(
    lambda counts, bucket: record.cells(counts, bucket, taken=True),
    st.lists(st.integers(0, MOST_TAKEN), min_size=6, max_size=6),
    BUCKETS,
)
RECORDS = st.one_of(
    st.lists(CELLS | WRITTEN | TAKEN, max_size=30).map(b"".join), st.binary(max_size=40)
)
KEYS = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)
NOW = st.integers(-(1 << 33), 1 << 33) | st.integers(BUCKET - 5, BUCKET + 5)


def test_it_is_in_use() -> None:
    assert chosen.window_totals is core.window_totals


@given(st.lists(st.tuples(KEYS, RECORDS), max_size=5), NOW)
@example([(KEY, record.cells([SATURATED] * 6, BUCKET) * 3)], BUCKET)
@example([(KEY, record.cells([MOST_TAKEN] * 6, BUCKET, taken=True) * 20_000)], BUCKET)
@example([(KEY, record.cells([1] * 6, -1)), (KEY, record.cells([1] * 6, -145, day=True))], -1)
def test_records_add_up_alike(pairs: list[tuple[bytes, bytes]], now: int) -> None:
    keys, records = [key for key, _ in pairs], [one for _, one in pairs]
    found = core.window_totals(keys, records, None, now, NOTHING)
    assert found == window_totals(keys, records, None, now, NOTHING)


@given(
    st.integers(0, 4),
    st.lists(st.integers(0, 300), max_size=40),
    st.integers(BUCKET - 3000, BUCKET + 3000),
    st.randoms(use_true_random=False),
)
def test_sightings_are_found_alike(bits: int, numbers: list[int], now: int, chance: Any) -> None:
    """Slots of keys that were admitted, of nobody, and of times that have not come."""
    slots = np.zeros((1 << bits, WAYS), np.uint32)
    admitted = np.array(sorted(set(numbers)), np.uint64)
    heads = np.full(len(admitted), 0x0108, np.uint16)
    buckets = np.array([(BUCKET + chance.randint(-4000, 4000)) % RING for _ in admitted], np.uint32)
    doorkeeper.admit(slots, heads, admitted, buckets, BUCKET).make(slots)
    slots[0, 0] = chance.getrandbits(32)
    flat = slots.reshape(-1).data
    keys = [record.key_of(Shingle(8, number), CounterPrefix.IN) for number in range(301)]
    records = [b"odd" if number % 50 == 1 else b"" for number in range(301)]
    found = core.window_totals(keys, records, flat, now, NOTHING)
    assert found == window_totals(keys, records, flat, now, NOTHING)


def test_keys_of_which_nothing_is_known_share_one_row() -> None:
    for read in (core.window_totals, window_totals):
        rows, takes = read([KEY, KEY], [b"", record.cells([1] * 6, BUCKET)], None, BUCKET, NOTHING)
        assert rows[0] is NOTHING
        assert rows[1] is not NOTHING
        assert not takes


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, (1 << 64) - 1)), max_size=9))
def test_keys_are_alike(pairs: list[tuple[int, int]]) -> None:
    shingles = [Shingle(*pair) for pair in pairs]
    for prefix, number in PREFIXES.items():
        keys = core.counter_keys(number, shingles)
        assert keys == record.counter_keys(number, shingles)
        assert keys == [record.key_of(shingle, prefix) for shingle in shingles]


NO_TABLE = memoryview(bytes(96)).cast("I")  # three sets
WRONG: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "a key that is short": (lambda: read([b"short"], [b""]), ValueError),
    "a key that is a text": (lambda: read(["0123456789"], [b""]), TypeError),
    "a record that is a text": (lambda: read([KEY], ["12345678"]), TypeError),
    "more keys than records": (lambda: read([KEY], []), ValueError),
    "keys that are none": (lambda: read(5, []), TypeError),
    "records that are none": (lambda: read([], 5), TypeError),
    "three sets": (lambda: read([KEY], [b""], NO_TABLE), ValueError),
    "no set": (lambda: read([KEY], [b""], NO_TABLE[:0]), ValueError),
    "half a set": (lambda: read([KEY], [b""], NO_TABLE[:4]), ValueError),
    "slots that are none": (lambda: read([KEY], [b""], "slots"), TypeError),
    "a time that is none": (lambda: read([KEY], [b""], None, "now"), TypeError),
    "a time of no clock": (lambda: read([KEY], [b""], None, 1 << 62), OverflowError),
    "a time beyond numbers": (lambda: read([KEY], [b""], None, 1 << 99), OverflowError),
    "too few": (lambda: core.window_totals([], []), TypeError),
    "a prefix that is none": (lambda: core.counter_keys(256, []), ValueError),
    "a prefix below zero": (lambda: core.counter_keys(-1, []), ValueError),
    "a prefix that is a text": (lambda: core.counter_keys("1", []), TypeError),
    "a type that is none": (lambda: core.counter_keys(1, [(256, 1)]), IndexError),
    "a type that is a text": (lambda: core.counter_keys(1, [("1", 1)]), TypeError),
    "a hash that is too large": (lambda: core.counter_keys(1, [(1, 1 << 64)]), OverflowError),
    "a hash below zero": (lambda: core.counter_keys(1, [(1, -1)]), OverflowError),
    "a hash that is a text": (lambda: core.counter_keys(1, [(1, "1")]), TypeError),
    "a shingle that is none": (lambda: core.counter_keys(1, [1]), TypeError),
    "shingles that are none": (lambda: core.counter_keys(1, 1), TypeError),
    "keys of too much": (lambda: core.counter_keys(1, [], 1), TypeError),
}


def read(keys: Any, records: Any, slots: Any = None, now: Any = BUCKET) -> object:
    return core.window_totals(keys, records, slots, now, NOTHING)


@pytest.mark.parametrize(("call", "error"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_an_error(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_it_keeps_nothing() -> None:
    shingles = [Shingle(8, number << 50) for number in range(20)]
    records = [record.cells([300, 2, 0, 0, 0, 9], BUCKET - number) for number in range(20)]
    slots = memoryview(bytes(64)).cast("I")

    def work() -> None:
        for _ in range(2_000):
            core.window_totals(core.counter_keys(1, shingles), records, slots, BUCKET, NOTHING)
            for call, _ in WRONG.values():
                with pytest.raises(Exception):  # noqa: B017 - each is tried above
                    call()

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 50_000, "2,000 rounds, and less than an octet of each call"
