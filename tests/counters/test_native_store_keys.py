"""The native core makes keys, and finds sightings, as its twins in Python do."""

from __future__ import annotations

import gc
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters import add_spooler, doorkeeper, doorkeeper_file, record
from oborona.counters.doorkeeper import BUCKET_BITS, LIVES, WAYS, cells_seen_once
from oborona.counters.record import FUTURE_BUCKETS, PREFIXES, RING
from oborona.types import Shingle

core: Any = pytest.importorskip("oborona._core")

NOW = 3_000_007
NUMBERS = st.sampled_from(sorted(PREFIXES.values()))
HASHES = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63, 2**64 - 1])
SHINGLES = st.lists(st.builds(Shingle, st.integers(0, 255), HASHES), max_size=20)
KEYS = st.lists(st.binary(min_size=10, max_size=10), max_size=20)
AGES = (0, 1, LIVES - 1, LIVES, RING // 2, RING - FUTURE_BUCKETS - 1, RING - FUTURE_BUCKETS)


def view(slots: list[int]) -> memoryview[int]:
    data: memoryview[int] = np.array(slots, np.uint32).data
    return data


def prints_of(key: bytes) -> int:
    _, prints = doorkeeper._places(
        np.zeros((1, WAYS), np.uint32),
        np.array([int.from_bytes(key[:2])], np.uint16),
        np.array([int.from_bytes(key[2:])], np.uint64),
    )
    return int(prints[0])


def test_they_are_in_use() -> None:
    assert vars(add_spooler)["store_keys"] is core.store_keys
    assert vars(doorkeeper_file)["cells_seen_once"] is core.cells_seen_once


@given(NUMBERS, SHINGLES)
def test_keys_are_equal_on_everything(number: int, shingles: list[Shingle]) -> None:
    made = core.store_keys(number, shingles)
    assert made == record.store_keys(number, shingles)
    assert core.store_keys(number, tuple(shingles)) == made
    assert [record.KEY.unpack(key) for key in made] == [(number, *each) for each in shingles]


@given(
    KEYS,
    st.sampled_from([0, 1, 2, 8, 64]),
    st.sampled_from([NOW, 0, -5, RING, 2**62]),
    st.randoms(use_true_random=False),
)
def test_sightings_are_equal_on_everything(
    keys: list[bytes], sets: int, reference: int, chance: Any
) -> None:
    """Slots bear the fingerprints of some keys, with sightings of all ages."""
    prints = [prints_of(key) for key in keys] or [0]
    slots = view(
        [
            chance.choice(prints) << BUCKET_BITS | (reference - chance.choice(AGES)) % RING
            if chance.random() < 0.7
            else 0
            for _ in range(sets * WAYS)
        ]
    )
    places = list(range(5, 5 + len(keys)))
    found = core.cells_seen_once(slots, keys, places, reference)
    assert found == (cells_seen_once(slots, keys, places, reference))


def test_each_border_of_an_age_is_where_its_twin_has_it() -> None:
    key = b"\x01\x02" + bytes(range(8))
    for age in range(-FUTURE_BUCKETS - 2, LIVES + 3):
        slots = view([prints_of(key) << BUCKET_BITS | (NOW - age) % RING] + [0] * (WAYS - 1))
        found = core.cells_seen_once(slots, [key], [7], NOW)
        assert found == cells_seen_once(slots, [key], [7], NOW)
        assert bool(found) == (-FUTURE_BUCKETS <= age < LIVES)


def test_a_table_of_no_whole_sets_is_not_read_beyond_its_end() -> None:
    for slots in range(3 * WAYS):
        keys = [struct.pack(">HQ", 257, number << 55) for number in range(512)]
        full = view([0xFFFFFFFF] * slots)
        core.cells_seen_once(full, keys, range(512), NOW)


WRONG: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "no such prefix": (lambda: core.store_keys(256, []), ValueError),
    "a prefix that is none": (lambda: core.store_keys("1", []), TypeError),
    "no such type": (lambda: core.store_keys(1, [Shingle(256, 1)]), IndexError),
    "a type below zero": (lambda: core.store_keys(1, [Shingle(-1, 1)]), IndexError),
    "a hash too large": (lambda: core.store_keys(1, [Shingle(1, 1 << 64)]), OverflowError),
    "a hash below zero": (lambda: core.store_keys(1, [Shingle(1, -1)]), OverflowError),
    "no shingle": (lambda: core.store_keys(1, [5]), TypeError),
    "no shingles": (lambda: core.store_keys(1, 5), TypeError),
    "too long a shingle": (lambda: core.store_keys(1, [(1, 2, 3)]), TypeError),
    "too few": (lambda: core.store_keys(1), TypeError),
    "a short key": (lambda: core.cells_seen_once(view([0] * 8), [b"k"], [1], 1), ValueError),
    "a text as key": (lambda: core.cells_seen_once(view([0] * 8), ["k" * 10], [1], 1), ValueError),
    "too few places": (lambda: core.cells_seen_once(view([0]), [b"k" * 10], [], 1), ValueError),
    "no table": (lambda: core.cells_seen_once(None, [], [], 1), TypeError),
    "no keys": (lambda: core.cells_seen_once(view([0]), None, [], 1), TypeError),
    "no places": (lambda: core.cells_seen_once(view([0]), [], None, 1), TypeError),
    "no bucket": (lambda: core.cells_seen_once(view([0]), [], [], None), TypeError),
}


@pytest.mark.parametrize(("call", "error"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_nothing_is_kept() -> None:
    key = b"\x01\x02" + bytes(range(8))
    seen = view([prints_of(key) << BUCKET_BITS | NOW % RING] + [0] * (WAYS - 1))

    def work() -> None:
        for _ in range(1_000):
            core.store_keys(1, [Shingle(1, 2), Shingle(3, 4)])
            assert core.cells_seen_once(seen, [key], [1000], NOW)
            for call, error in WRONG.values():
                with pytest.raises(error):
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
    assert kept < 50_000
