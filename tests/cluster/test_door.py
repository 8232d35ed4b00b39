"""Shingles seen once in a page: a slot at its door and no record, until they come again."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.counters import record
from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.layout import SLOT_OF_TAG, page_of
from oborona.counters.cluster.page_queries import DOOR, SLOT, SLOTS, sighting

from .sending import KEY, NOON, PAIR, TAG, Sent, batch

OTHERS = [KEY[:-2] + number.to_bytes(2) for number in range(1, SLOTS + 1)]  # of KEY's page


def once(bucket: int = NOON) -> bytes:
    return record.cells([1, 0, 0, 0, 0, 0], bucket)


class Door(Sent):
    """Sends with the doorkeeper on."""

    def add(
        self, *keys: bytes, bucket: int = NOON, now: int = NOON, doorkeeper: bool = True
    ) -> None:
        sent = batch([(key, bucket, once(bucket)) for key in keys])
        assert self.send(sent, now, doorkeeper=doorkeeper) == self.step

    @property
    def slots(self) -> bytes:
        [answer] = self.shards.ask([(SLOT_OF_TAG[TAG], (b"HGET", page_of(KEY), DOOR))])
        assert answer is None or isinstance(answer, bytes)
        return answer or b""


@pytest.fixture
def door(shards: BlockingClusterClient) -> Door:
    return Door(shards)


def test_what_is_seen_once_has_a_slot_and_no_record_and_what_comes_again_a_record_of_both(
    door: Door,
) -> None:
    door.add(KEY)
    assert (door.stored(KEY), len(door.slots)) == (b"", SLOT.size)
    assert sighting(door.slots, KEY, NOON) == once()
    door.add(KEY, bucket=NOON + 3, now=NOON + 3)
    assert (door.stored(KEY), door.slots) == (once() + once(NOON + 3), b"")
    door.add(KEY, bucket=NOON + 3, now=NOON + 3)
    assert door.stored(KEY) == once() + record.cells([2, 0, 0, 0, 0, 0], NOON + 3)


@pytest.mark.parametrize(
    "cells",
    [
        record.cells([2, 0, 0, 0, 0, 0], NOON),
        record.cells([0, 1, 0, 0, 0, 0], NOON),
        record.cells([1, 1, 0, 0, 0, 0], NOON),
        record.cells([1 << 7, 0, 0, 0, 0, 0], NOON),
        record.cells([1, 0, 0, 0, 0, 0], NOON, day=True),
    ],
)
def test_whatever_is_more_than_one_sight_gets_a_record(door: Door, cells: bytes) -> None:
    door.send(batch([(KEY, NOON, cells)]), NOON, doorkeeper=True)
    assert (door.stored(KEY), door.slots) == (cells, b"")


def test_a_sight_of_a_time_in_no_window_gets_a_record(door: Door) -> None:
    for bucket in (NOON - 15 * 144 - 73, NOON + 145):
        door.empty()
        door.add(KEY, bucket=bucket)
        assert (door.stored(KEY), door.slots) == (once(bucket), b"")


def test_without_a_doorkeeper_all_get_records_and_what_is_at_the_door_counts(door: Door) -> None:
    door.add(OTHERS[0])
    door.add(KEY, OTHERS[0], doorkeeper=False)
    assert door.stored(KEY) == once()
    assert door.stored(OTHERS[0]) == record.cells([2, 0, 0, 0, 0, 0], NOON)


def test_a_first_half_of_a_pair_has_a_record_or_nothing(door: Door) -> None:
    flush = msgspec.structs.replace(batch([(PAIR, NOON, once())]), pairs=[(PAIR, KEY, NOON)])
    for _ in range(2):
        door.send(flush, NOON, doorkeeper=True)
    assert door.stored(PAIR) == record.cells([2, 0, 0, 0, 0, 0], NOON)
    assert sighting(door.slots, KEY, NOON) == once(), "the U gained one, once"


def test_of_too_many_the_oldest_is_forgotten(door: Door) -> None:
    door.add(KEY)
    for other in OTHERS:
        door.add(other)
    assert len(door.slots) == SLOTS * SLOT.size
    assert sighting(door.slots, KEY, NOON) == b""
    assert sighting(door.slots, OTHERS[0], NOON) == once()


def test_a_key_that_looks_alike_takes_the_others_sight(door: Door) -> None:
    alike = KEY[:2] + KEY[2:5] + bytes(3) + KEY[8:]
    assert page_of(alike) == page_of(KEY)
    door.add(KEY)
    door.add(alike, bucket=NOON + 1)
    assert door.stored(alike) == once() + once(NOON + 1)
    assert (door.stored(KEY), door.slots) == (b"", b"")


def test_the_same_hash_under_another_type_or_service_does_not_look_alike(door: Door) -> None:
    theirs = [bytes([2]) + KEY[1:], KEY[:1] + bytes([9]) + KEY[2:]]
    door.add(KEY, *theirs)
    assert len(door.slots) == 3 * SLOT.size


def test_what_is_forgotten_loses_its_slot(door: Door) -> None:
    door.add(KEY, OTHERS[0])
    door.send(batch([(KEY, NOON, once())], forgotten=[KEY]), NOON, doorkeeper=True)
    assert door.stored(KEY) == b""
    assert len(door.slots) == 2 * SLOT.size
    door.send(batch([], forgotten=[KEY]), NOON, doorkeeper=True)
    assert sighting(door.slots, KEY, NOON) == b""
    assert len(door.slots) == SLOT.size


def test_a_slot_out_of_the_windows_goes_when_its_page_is_gone_through(door: Door) -> None:
    door.add(KEY)
    for days, believed, left in ((14, True, 2), (16, False, 3), (16, True, 3)):
        now = NOON + 144 * days
        later = batch([(OTHERS[days + believed], now, once(now))])
        door.send(later, now, believed=believed, doorkeeper=True)
        assert len(door.slots) == left * SLOT.size
    assert sighting(door.slots, KEY, NOON) == b""


def test_a_step_that_comes_again_changes_nothing_at_the_door(door: Door) -> None:
    door.add(KEY)
    door.step -= 1
    door.before = door.step - 1
    door.add(KEY)
    assert (door.stored(KEY), len(door.slots)) == (b"", SLOT.size)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lows=st.lists(st.sampled_from([0x0101, 0x0102, 0x0201, 0x1111, 0xFFFF]), max_size=30),
    buckets=st.lists(st.integers(NOON - 500, NOON + 100), min_size=30, max_size=30),
)
def test_what_is_at_the_door_and_in_records_is_all_that_was_seen(
    door: Door, lows: list[int], buckets: list[int]
) -> None:
    """Prints and buckets whose bytes repeat are found at slots' borders alone."""
    door.empty()
    seen: dict[bytes, list[int]] = {}
    for low, bucket in zip(lows, buckets, strict=False):
        key = KEY[:-2] + low.to_bytes(2)
        door.add(key, bucket=bucket)
        seen.setdefault(key, []).append(bucket)
    for key, theirs in seen.items():
        stored = door.stored(key) or sighting(door.slots, key, NOON)
        told = sorted(
            at for _day, at, counts in record.split(stored, NOON) for at in [at] * counts[0]
        )
        assert told == sorted(theirs)
