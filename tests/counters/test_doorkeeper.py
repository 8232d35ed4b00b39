"""The table of shingles seen once.

The invariant: a sighting that is found is the key's own, with its own bucket.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters import doorkeeper
from oborona.counters.doorkeeper import LIVES, WAYS, SlotChanges
from oborona.counters.record import KEY, RING

HEAD = 0x0108
NOON = 2_880_072  # a bucket


def table(sets: int = 64) -> npt.NDArray[np.uint32]:
    return np.zeros((sets, WAYS), np.uint32)


def keys(*hashes: int) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint64]]:
    return np.full(len(hashes), HEAD, np.uint16), np.array(hashes, np.uint64)


def admit(slots: npt.NDArray[np.uint32], hashes: list[int], bucket: int, now: int) -> None:
    places = np.full(len(hashes), bucket % RING, np.uint32)
    doorkeeper.admit(slots, *keys(*hashes), places, now).make(slots)


def found(slots: npt.NDArray[np.uint32], hashes: list[int], now: int) -> list[int]:
    """Return how long ago each key that is found was seen, and -1 for the others."""
    kept = doorkeeper.find(slots, *keys(*hashes), now)
    ages = np.full(len(hashes), -1)
    ages[kept.found] = (now - kept.buckets.astype(np.int64)) % RING
    return [int(age) for age in ages]


def in_one_set(slots: npt.NDArray[np.uint32], count: int) -> list[int]:
    """Return hashes of keys that share a set."""
    hashes = np.arange(1, 20_000, dtype=np.uint64)
    heads = np.full(len(hashes), HEAD, np.uint16)
    sets, _prints = doorkeeper._places(slots, heads, hashes)
    return [int(one) for one in hashes[sets == sets[0]][:count]]


@pytest.mark.parametrize("age", [0, 1, LIVES - 1])
@pytest.mark.parametrize("now", [NOON, RING * 22 + 5, 40 * 144])
def test_a_sighting_is_found_with_its_time_for_a_fortnight(age: int, now: int) -> None:
    slots = table()
    admit(slots, [7], now - age, now)
    assert found(slots, [7, 8], now) == [age, -1]


@pytest.mark.parametrize("age", [LIVES, LIVES + 1, 60_000])
def test_a_sighting_out_of_the_fortnight_is_not_found(age: int) -> None:
    slots = table()
    admit(slots, [7], NOON - age, NOON)
    assert found(slots, [7], NOON) == [-1]


def test_one_whose_time_has_not_come_is_kept() -> None:
    slots = table()
    admit(slots, [7], NOON + 100, NOON)
    assert found(slots, [7], NOON) == [RING - 100]
    assert found(slots, [7], NOON + 100) == [0]


def test_sightings_of_a_clock_that_was_wrong_go_first() -> None:
    slots = table()
    hashes = in_one_set(slots, WAYS + 2)
    admit(slots, hashes[:WAYS], NOON + 15_000, NOON + 15_000)  # 100 days ahead
    assert found(slots, hashes[:WAYS], NOON) == [-1] * WAYS
    admit(slots, hashes[WAYS:], NOON, NOON)
    assert found(slots, hashes[WAYS:], NOON) == [0, 0]


def test_changes_that_are_not_made_yet_are_looked_at() -> None:
    slots = table()
    admit(slots, [7], NOON, NOON)
    gone = doorkeeper.removal_changes(doorkeeper.find(slots, *keys(7), NOON))
    assert not doorkeeper.find(slots, *keys(7), NOON, gone).found.any()
    back = doorkeeper.admit(slots, *keys(7), np.full(1, NOON % RING, np.uint32), NOON, gone)
    assert doorkeeper.find(slots, *keys(7), NOON, doorkeeper.concatenate([gone, back])).found.all()
    full = in_one_set(slots, WAYS + 1)
    taken = doorkeeper.admit(
        slots, *keys(*full[:WAYS]), np.full(WAYS, NOON % RING, np.uint32), NOON
    )
    one_more = doorkeeper.admit(
        slots, *keys(full[WAYS]), np.full(1, NOON % RING, np.uint32), NOON, taken
    )
    doorkeeper.concatenate([taken, one_more]).make(slots)
    assert found(slots, full, NOON).count(0) == WAYS


def test_a_dead_slot_that_is_alike_hides_no_live_one() -> None:
    slots = table()
    admit(slots, [7], NOON - LIVES, NOON)
    admit(slots, [7], NOON, NOON)
    assert found(slots, [7], NOON) == [0]


def test_a_full_set_forgets_the_oldest() -> None:
    slots = table()
    hashes = in_one_set(slots, WAYS + 2)
    for age, one in enumerate(hashes[:WAYS]):
        admit(slots, [one], NOON - age, NOON)
    admit(slots, hashes[WAYS:], NOON, NOON)
    assert found(slots, hashes, NOON) == [*range(WAYS - 2), -1, -1, 0, 0]


def test_too_many_for_one_set_at_once_leave_the_others_alone() -> None:
    slots = table()
    hashes = in_one_set(slots, WAYS + 3)
    other = next(one for one in range(1, 100) if one not in hashes)
    admit(slots, [other], NOON, NOON)
    admit(slots, hashes, NOON, NOON)
    assert sum(age == 0 for age in found(slots, hashes, NOON)) == WAYS
    assert found(slots, [other], NOON) == [0]


def test_what_is_removed_is_free() -> None:
    slots = table()
    admit(slots, [1, 2], NOON, NOON)
    doorkeeper.removal_changes(doorkeeper.find(slots, *keys(1), NOON)).make(slots)
    assert found(slots, [1, 2], NOON) == [-1, 0]
    assert np.count_nonzero(slots) == 1


def test_heads_keep_apart() -> None:
    slots = table(1 << 12)
    admit(slots, [7], NOON, NOON)
    heads = np.arange(0x0101, 0x014C, dtype=np.uint16)
    kept = doorkeeper.find(slots, heads, np.full(len(heads), 7, np.uint64), NOON)
    assert heads[kept.found].tolist() == [HEAD]


def test_strangers_are_mistaken_as_rarely_as_promised() -> None:
    slots = table(1 << 12)
    rng = np.random.default_rng(5)
    for _ in range(4):
        some = rng.integers(0, 2**64, 1 << 14, dtype=np.uint64)
        heads = np.full(len(some), HEAD, np.uint16)
        places = np.full(len(some), NOON % RING, np.uint32)
        doorkeeper.admit(slots, heads, some, places, NOON).make(slots)
    strangers = rng.integers(0, 2**64, 1 << 20, dtype=np.uint64)
    kept = doorkeeper.find(slots, np.full(len(strangers), HEAD, np.uint16), strangers, NOON)
    share = np.count_nonzero(kept.found) / len(strangers)
    assert 0 < share < 1.15 * WAYS / 32_768


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 2**64 - 1), max_size=20, unique=True), st.integers(-3000, 0)
        ),
        max_size=6,
    ),
    st.sampled_from([2, 4, 64]),
)
def test_changes_come_back_from_bytes_and_can_be_made_twice(
    batches: list[tuple[list[int], int]], sets: int
) -> None:
    slots, again = table(sets), table(sets)
    for hashes, bucket in batches:
        places = np.full(len(hashes), (NOON + bucket) % RING, np.uint32)
        changes = doorkeeper.admit(slots, *keys(*hashes), places, NOON)
        changes.make(slots)
        for _ in range(2):
            SlotChanges.from_bytes(changes.to_bytes(), slots.size).make(again)
    assert (slots == again).all()


@pytest.mark.parametrize("data", [b"x", b"1234567", b"\xff" * 8])
def test_broken_changes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no whole changes|beyond the table"):
        SlotChanges.from_bytes(data, 64)


@given(
    sets=st.sampled_from([1, 2, 64]),
    seen=st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(-200, LIVES + 5)), max_size=40),
    others=st.lists(st.integers(0, 2**64 - 1), max_size=10),
    now=st.sampled_from([NOON, RING * 22 + 5, 40 * 144]),
)
def test_a_reader_finds_what_the_writer_finds(
    sets: int, seen: list[tuple[int, int]], others: list[int], now: int
) -> None:
    slots = table(sets)
    for one, age in seen:
        admit(slots, [one], now - age, now)
    hashes = [one for one, _age in seen] + others
    places = list(range(10, 10 + len(hashes)))
    wanted = [bytes(KEY.pack(*divmod(HEAD, 256), one)) for one in hashes]
    kept = doorkeeper.find(slots, *keys(*hashes), now)
    cells = [cell.to_bytes(8, "little") for cell in doorkeeper.sighting_cells(kept).tolist()]
    by_writer = list(zip(np.array(places)[kept.found].tolist(), cells, strict=True))
    assert doorkeeper.cells_seen_once(slots.reshape(-1).data, wanted, places, now) == by_writer
