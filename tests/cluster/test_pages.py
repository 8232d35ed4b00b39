"""The function in Redis does with records what `record.py` does: the same bytes, whatever comes
together.
"""

from __future__ import annotations

import hiredis
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.counters import record
from oborona.counters.batch_sums import sum_batches
from oborona.counters.cluster import add_function, steps
from oborona.counters.cluster.blocking_client import BlockingClusterClient
from oborona.counters.cluster.layout import APPLIED_KEYS, SLOT_OF_TAG, page_of
from oborona.types import CounterPrefix, Shingle

from .sending import KEY, NOON, OUTBOX, PAIR, TAG, Sent, batch

counts = st.lists(
    st.one_of(st.integers(0, 200), st.sampled_from([0, 1, 127, 128, 2**14, 2**42, 2**63 - 1])),
    min_size=6,
    max_size=6,
)
buckets = st.one_of(st.integers(NOON - 3, NOON), st.integers(NOON - 20 * 144, NOON + 200))


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(adds=st.lists(st.tuples(buckets, counts, st.booleans()), min_size=1, max_size=40))
def test_records_are_merged_as_here(
    shards: BlockingClusterClient, adds: list[tuple[int, list[int], bool]]
) -> None:
    sent = Sent(shards)
    sent.empty()
    expected = b""
    for bucket, amounts, believed in adds:
        cells = record.cells(amounts, bucket)
        if not cells:
            continue
        one = batch([(KEY, bucket, cells)])
        assert sent.send(one, NOON, believed=believed) == sent.step
        [delta] = sum_batches([one], NOON).deltas()
        expected = record.merge(expected, delta, NOON if believed else None)
        assert sent.stored(KEY) == expected


small = st.lists(
    st.one_of(st.integers(0, 200), st.sampled_from([0, 1, 127, 128, 2**14, 2**42, 2**49 - 1])),
    min_size=6,
    max_size=6,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.lists(
        st.tuples(buckets, st.one_of(small, counts), st.booleans(), st.booleans()),
        min_size=1,
        max_size=20,
    )
)
def test_what_is_taken_back_is_netted_as_here(
    shards: BlockingClusterClient, changes: list[tuple[int, list[int], bool, bool]]
) -> None:
    sent = Sent(shards)
    sent.empty()
    expected = b""
    for bucket, amounts, taken, believed in changes:
        taking = taken and max(amounts) < 2**49
        cells = record.cells(amounts, bucket, taken=taking)
        if not cells:
            continue
        one = msgspec.structs.replace(batch([(KEY, bucket, cells)]), takes=taking)
        assert sent.send(one, NOON, believed=believed) == sent.step
        [delta] = sum_batches([one], NOON).deltas()
        expected = record.merge(expected, delta, NOON if believed else None)
        assert sent.stored(KEY) == expected


def test_a_shingle_seen_once_leaves_the_door_when_it_is_taken_back(
    shards: BlockingClusterClient,
) -> None:
    sent = Sent(shards)
    sent.empty()
    one, other = record.cells([1, 0, 0, 0, 0, 0], NOON), KEY[:-1] + bytes((KEY[-1] ^ 1,))
    back = msgspec.structs.replace(
        batch([(KEY, NOON, record.cells([1, 0, 0, 0, 0, 0], NOON, taken=True))]), takes=True
    )
    sent.send(batch([(KEY, NOON, one), (other, NOON, one)]), NOON, doorkeeper=True)
    sent.send(back, NOON, doorkeeper=True)
    assert sent.stored(KEY) == b""
    sent.send(batch([(KEY, NOON, one)]), NOON, doorkeeper=True)
    assert sent.stored(KEY) == b"", "seen once again"
    sent.send(batch([(KEY, NOON, one), (other, NOON, one)]), NOON, doorkeeper=True)
    assert sent.stored(KEY) == sent.stored(other) == record.cells([2, 0, 0, 0, 0, 0], NOON)


def test_a_pair_that_comes_in_two_flushes_of_a_step_is_decided_once(
    shards: BlockingClusterClient,
) -> None:
    sent = Sent(shards)
    one = record.cells([1, 0, 0, 0, 0, 0], NOON)
    flush = msgspec.structs.replace(batch([(PAIR, NOON, one)]), pairs=[(PAIR, KEY, NOON)])
    [share] = steps.make([flush, flush], NOON, [0] * 256, OUTBOX, believed=True).shares
    sent.step = 1
    assert sent.again(share) == 1
    assert sent.stored(KEY) == one
    assert sent.stored(PAIR) == record.cells([2, 0, 0, 0, 0, 0], NOON)


def test_a_pair_whose_halves_begin_differently_is_left_out_and_told() -> None:
    one = record.cells([1, 0, 0, 0, 0, 0], NOON)
    other = record.key_of(Shingle(31, 0), CounterPrefix.IN)
    flush = msgspec.structs.replace(batch([(PAIR, NOON, one)]), pairs=[(PAIR, other, NOON)])
    made = steps.make([flush], NOON, [0] * 256, OUTBOX, believed=True)
    assert made.parted == 1
    assert [share.tag for share in made.shares] == [TAG]


def test_a_step_is_kept_as_it_is_made(shards: BlockingClusterClient) -> None:
    one = record.cells([1, 0, 0, 0, 0, 0], NOON)
    keys = [record.key_of(Shingle(8, tag << 56), CounterPrefix.IN) for tag in range(256)]
    made = steps.make(
        [batch([(key, NOON, one) for key in keys], keys[:9])],
        NOON,
        [5] * 256,
        OUTBOX,
        believed=True,
    )
    kept = steps.encode(made.shares, 7.5)
    assert steps.made_at(kept) == 7.5
    assert list(steps.decode(kept)) == made.shares
    assert list(steps.decode(kept, [7, 200])) == [made.shares[7], made.shares[200]]


def test_a_step_that_comes_again_changes_nothing(shards: BlockingClusterClient) -> None:
    sent = Sent(shards)
    one = record.cells([1, 0, 0, 0, 0, 0], NOON)
    [share] = steps.make([batch([(KEY, NOON, one)])], NOON, [0] * 256, OUTBOX, believed=True).shares
    sent.step = 1
    assert sent.again(share) == 1
    assert sent.again(share) == 1
    assert sent.stored(KEY) == one


def test_a_step_after_one_that_is_missing_does_nothing_and_says_what_is_there(
    shards: BlockingClusterClient,
) -> None:
    sent = Sent(shards)
    one = record.cells([1, 0, 0, 0, 0, 0], NOON)
    sent.send(batch([(KEY, NOON, one)]), NOON)
    sent.step = 7
    assert sent.send(batch([(KEY, NOON, one)]), NOON) == 1
    assert sent.stored(KEY) == one


def test_what_is_out_of_the_windows_goes_when_its_page_is_touched_hours_later(
    shards: BlockingClusterClient,
) -> None:
    sent = Sent(shards)
    neighbour = KEY[:-1] + bytes((KEY[-1] ^ 1,))
    assert page_of(neighbour) == page_of(KEY)
    one = record.cells([1, 0, 0, 0, 0, 0], NOON)
    folded = record.tidy(one, NOON + 144 * 14)
    assert folded
    sent.send(batch([(KEY, NOON, one)]), NOON)
    for days, believed, left in (
        (0, True, one),
        (16, False, one),
        (14, True, folded),
        (16, True, b""),
    ):
        now = NOON + 144 * days
        later = record.cells([1, 0, 0, 0, 0, 0], now)
        sent.send(batch([(neighbour, now, later)]), now, believed=believed)
        assert sent.stored(KEY) == left


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cells=st.lists(
        st.tuples(st.integers(NOON - 20 * 144, NOON + 300), st.booleans()), min_size=1, max_size=3
    )
)
def test_going_through_a_page_leaves_each_record_as_it_is_tidied_here(
    shards: BlockingClusterClient, cells: list[tuple[int, bool]]
) -> None:
    sent = Sent(shards)
    sent.empty()
    neighbour = KEY[:-1] + bytes((KEY[-1] ^ 1,))
    for at, day in cells:
        one = record.cells([1, 0, 0, 0, 0, 0], at - at % 144 if day else at, day=day)
        sent.send(batch([(KEY, at, one)]), NOON, believed=False)
    stored = sent.stored(KEY)
    sent.send(
        batch([(neighbour, NOON, record.cells([1, 0, 0, 0, 0, 0], NOON))]), NOON, believed=True
    )
    assert sent.stored(KEY) == stored, "the page is new to who goes through it"
    later = NOON + 36
    sent.send(
        batch([(neighbour, later, record.cells([1, 0, 0, 0, 0, 0], later))]), later, believed=True
    )
    assert sent.stored(KEY) == record.tidy(stored, later)


def test_a_page_is_forgotten_by_redis_when_nobody_touches_it(shards: BlockingClusterClient) -> None:
    sent = Sent(shards)
    sent.send(batch([(KEY, NOON, record.cells([1, 0, 0, 0, 0, 0], NOON))]), NOON)
    [left_s] = shards.ask([(SLOT_OF_TAG[TAG], (b"TTL", page_of(KEY)))])
    assert isinstance(left_s, int)
    assert 16 * 86_400 < left_s <= 17 * 86_400


def test_what_an_outbox_left_behind_goes_when_it_was_silent_for_a_month(
    shards: BlockingClusterClient,
) -> None:
    sent = Sent(shards)
    one = record.cells([1, 0, 0, 0, 0, 0], NOON)
    sent.send(batch([(KEY, NOON, one)]), NOON)
    other = Sent(shards)
    for days, left in ((29, True), (31, False)):
        now = NOON + 144 * days
        made = steps.make([batch([(KEY, now, one)])], now, [0] * 256, b"other id", believed=True)
        other.before, other.step = other.step, other.step + 1
        other.again(made.shares[0])
        slot = SLOT_OF_TAG[TAG]
        applied, touched = shards.ask(
            [
                (slot, (b"HEXISTS", APPLIED_KEYS[TAG], OUTBOX)),
                (slot, (b"HEXISTS", page_of(KEY), b"a" + OUTBOX)),
            ]
        )
        assert (applied, touched) == (left, left)


def test_an_error_of_the_function_is_an_answer(shards: BlockingClusterClient) -> None:
    [answer] = shards.ask(
        [(SLOT_OF_TAG[TAG], (b"FCALL", add_function.ADD, 1, APPLIED_KEYS[TAG], b"", b""))]
    )
    assert isinstance(answer, hiredis.ReplyError)
