"""What every counter store promises, held against each of them."""

from __future__ import annotations

import pytest

from oborona.counters.memory import MemoryCounters
from oborona.types import Amounts, CountedPieces, CounterPrefix, Metric, Shingle, UniquePair, Window

from .conftest import NOON, Subject

SUBJECT = Shingle(8, 0x0123456789ABCDEF)
SENDER = Shingle(31, 2**64 - 1)
DAY = 86_400
ONE = Amounts(seen=1)
MIDNIGHT = 20_000 * DAY


def pieces(*shingles: Shingle, pairs: tuple[UniquePair, ...] = ()) -> CountedPieces:
    return CountedPieces(shingles=shingles, pairs=pairs)


def to(recipient: int) -> UniquePair:
    """The two halves begin with the same bits, as the hashes of a message do."""
    return UniquePair(both=Shingle(30, (0xFFF << 52) + recipient), distinct=SENDER)


async def seen(counters: Subject, shingle: Shingle, now: float) -> list[int]:
    """Return `seen` of each window."""
    [totals] = await counters.read([shingle], now)
    return [totals[window][Metric.SEEN] for window in Window]


async def test_nothing_counted_reads_zero(counters: Subject) -> None:
    assert await counters.read([SUBJECT, SENDER], NOON) == [[[0] * 6] * 4] * 2
    assert await counters.read([], NOON) == []


async def test_metrics_keep_apart_and_sum(counters: Subject) -> None:
    counters.add(pieces(SUBJECT), Amounts(1, 2, 3, 4, 5, 6), NOON)
    counters.settle(NOON)
    counters.add(pieces(SUBJECT), Amounts(10, 0, 0, 400, 0, 70_000), NOON)
    counters.settle(NOON)
    assert await counters.read([SUBJECT], NOON) == [[[11, 2, 3, 404, 5, 70_006]] * 4]


async def test_five_times_one_is_once_five(counters: Subject) -> None:
    for _ in range(5):
        counters.add(pieces(SUBJECT), ONE, NOON)
    counters.add(pieces(SENDER), Amounts(seen=5), NOON)
    counters.settle(NOON)
    one, other = await counters.read([SUBJECT, SENDER], NOON)
    assert one == other


async def test_prefixes_types_and_hashes_keep_apart(counters: Subject) -> None:
    counters.add(pieces(Shingle(8, 1)), Amounts(seen=1), NOON)
    counters.add(pieces(Shingle(9, 1)), Amounts(seen=2), NOON)
    counters.add(pieces(Shingle(8, 2)), Amounts(seen=3), NOON)
    counters.add(pieces(Shingle(8, 1)), Amounts(seen=4), NOON, CounterPrefix.OUT)
    counters.settle(NOON)
    here = await counters.read([Shingle(8, 2), Shingle(8, 1), Shingle(9, 1), Shingle(8, 1)], NOON)
    there = await counters.read([Shingle(8, 1)], NOON, CounterPrefix.OUT)
    assert [one[Window.RECENT][Metric.SEEN] for one in here + there] == [3, 1, 2, 1, 4]


@pytest.mark.parametrize("bucket", [0, 1, 71, 143])
@pytest.mark.parametrize(
    ("window", "buckets"), [(Window.RECENT, 1), (Window.HOUR, 6), (Window.DAY, 144)]
)
async def test_fine_windows_end_exactly_at_a_bucket_border(
    counters: Subject, window: Window, buckets: int, bucket: int
) -> None:
    start = MIDNIGHT + bucket * 600.0
    counters.add(pieces(SUBJECT), ONE, start + 599.999)
    counters.settle(start)
    last = start + buckets * 600
    assert (await seen(counters, SUBJECT, start))[window] == 1
    assert (await seen(counters, SUBJECT, last - 0.001))[window] == 1
    assert (await seen(counters, SUBJECT, last))[window] == 0


@pytest.mark.parametrize("second", [0.0, 43_200.0, 86_399.999])
async def test_the_fortnight_ends_exactly_at_midnight_utc(counters: Subject, second: float) -> None:
    counters.add(pieces(SUBJECT), ONE, MIDNIGHT + second)
    counters.settle(MIDNIGHT)
    border = MIDNIGHT + 14 * DAY
    assert (await seen(counters, SUBJECT, border - 0.001))[Window.FORTNIGHT] == 1
    assert (await seen(counters, SUBJECT, border))[Window.FORTNIGHT] == 0


async def test_a_late_count_goes_to_its_own_bucket(counters: Subject) -> None:
    counters.add(pieces(SUBJECT), ONE, NOON)
    counters.settle(NOON)
    counters.add(pieces(SUBJECT), Amounts(seen=10), NOON - 3 * 3600)
    counters.add(pieces(SUBJECT), Amounts(seen=100), NOON - 3 * DAY)
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [1, 1, 11, 111]
    counters.add(pieces(SUBJECT), Amounts(seen=1000), NOON - 20 * DAY)
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [1, 1, 11, 111]


async def test_a_future_count_waits_for_its_time_but_is_in_its_day(counters: Subject) -> None:
    counters.add(pieces(SUBJECT), ONE, NOON + 3600)
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [0, 0, 0, 1]
    assert await seen(counters, SUBJECT, NOON + 3600) == [1, 1, 1, 1]
    assert await seen(counters, SUBJECT, NOON - DAY) == [0, 0, 0, 0]


async def test_a_clock_set_back_an_hour_reads_what_was_then(counters: Subject) -> None:
    for minutes in range(0, 1500, 10):
        counters.add(pieces(SUBJECT), ONE, NOON + minutes * 60)
        counters.settle(NOON + minutes * 60)
    now = NOON + 1490 * 60
    assert await seen(counters, SUBJECT, now) == [1, 6, 144, 150]
    assert await seen(counters, SUBJECT, now - 3600) == [1, 6, 144, 150]


async def test_a_count_stops_at_its_limit_and_never_wraps(counters: Subject) -> None:
    most = 2**63 - 1
    for _ in range(3):
        counters.add(pieces(SUBJECT), Amounts(seen=most, spam=most - 1, traps=1), NOON)
        counters.settle(NOON)
    counters.add(pieces(SUBJECT), Amounts(seen=1, reads=7), NOON + 600)
    counters.settle(NOON + 600)
    [totals] = await counters.read([SUBJECT], NOON + 600)
    assert totals[Window.FORTNIGHT] == [most, most, 0, 0, 7, 3]


@pytest.mark.parametrize("wrong", [Amounts(seen=-1), Amounts(traps=2**63)])
async def test_amounts_out_of_range_are_refused(counters: Subject, wrong: Amounts) -> None:
    with pytest.raises(ValueError, match="amounts are"):
        counters.add(pieces(SUBJECT), wrong, NOON)
    assert await seen(counters, SUBJECT, NOON) == [0] * 4


@pytest.mark.parametrize("now", [float("nan"), float("inf")])
def test_a_time_that_is_no_number_is_refused(counters: Subject, now: float) -> None:
    with pytest.raises((ValueError, OverflowError)):
        counters.add(pieces(SUBJECT), ONE, now)


async def test_a_pair_counts_once_a_day(counters: Subject) -> None:
    for recipient in (1, 2, 1, 1, 3, 2):
        counters.add(pieces(pairs=(to(recipient),)), ONE, NOON)
        counters.settle(NOON)
    assert await seen(counters, SENDER, NOON) == [3] * 4
    assert await seen(counters, to(1).both, NOON) == [3] * 4


async def test_pairs_of_one_message_count_once_too(counters: Subject) -> None:
    counters.add(pieces(SUBJECT, pairs=(to(1), to(1), to(2))), ONE, NOON)
    counters.settle(NOON)
    assert await seen(counters, SENDER, NOON) == [2] * 4
    assert await seen(counters, SUBJECT, NOON) == [1] * 4


async def test_a_pair_counts_anew_after_midnight(counters: Subject) -> None:
    last, first = MIDNIGHT + DAY - 0.001, MIDNIGHT + DAY
    counters.add(pieces(pairs=(to(1),)), ONE, last)
    counters.add(pieces(pairs=(to(1),)), ONE, first)
    counters.settle(first)
    counters.add(pieces(pairs=(to(1),)), ONE, first + 600)
    counters.settle(first)
    assert await seen(counters, SENDER, first + 600) == [0, 2, 2, 2]


async def test_a_late_pair_is_held_against_its_own_day(counters: Subject) -> None:
    counters.add(pieces(pairs=(to(1),)), ONE, NOON)
    counters.settle(NOON)
    for _ in range(2):
        counters.add(pieces(pairs=(to(1),)), ONE, NOON - DAY)
        counters.settle(NOON)
    assert await seen(counters, SENDER, NOON) == [1, 1, 1, 2]


async def test_a_pair_of_one_service_is_not_one_of_the_other(counters: Subject) -> None:
    counters.add(pieces(pairs=(to(1),)), ONE, NOON)
    counters.add(pieces(pairs=(to(1),)), ONE, NOON, CounterPrefix.OUT)
    counters.settle(NOON)
    [here] = await counters.read([SENDER], NOON)
    [there] = await counters.read([SENDER], NOON, CounterPrefix.OUT)
    assert here == there
    assert here[Window.DAY][Metric.SEEN] == 1


async def test_amounts_of_zero_leave_pairs_to_be_decided(counters: Subject) -> None:
    counters.add(pieces(SUBJECT, pairs=(to(1),)), Amounts(), NOON)
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [0] * 4
    assert await seen(counters, SENDER, NOON) == [1] * 4


async def test_the_timeline_has_every_bucket_where_it_belongs(counters: Subject) -> None:
    now = MIDNIGHT + 13 * DAY + 50_000
    moments = [now - 14 * DAY, now - 13 * DAY, now - DAY, now - 85_900, now - 600, now, now + 600]
    for amount, moment in enumerate(moments, 1):
        counters.add(pieces(SUBJECT), Amounts(spam=amount), moment)
        counters.settle(now)
    [timeline] = await counters.timelines([SUBJECT], now)
    fine = [one[Metric.SPAM] for one in timeline.buckets]
    days = [one[Metric.SPAM] for one in timeline.days]
    assert (len(fine), len(days)) == (144, 14)
    assert {place: count for place, count in enumerate(fine) if count} == {0: 4, 142: 5, 143: 6}
    assert {place: count for place, count in enumerate(days) if count} == {
        0: 2,
        12: 3 + 4,
        13: 5 + 6 + 7,
    }


async def test_several_timelines_come_in_the_order_asked(counters: Subject) -> None:
    counters.add(pieces(SUBJECT), Amounts(seen=3), NOON)
    counters.settle(NOON)
    counters.add(pieces(pairs=(to(1), to(2))), ONE, NOON)
    lines = await counters.timelines([SENDER, SUBJECT, Shingle(8, 1), SUBJECT], NOON)
    assert [line.buckets[-1][Metric.SEEN] for line in lines] == [2, 3, 0, 3]
    assert await counters.timelines([], NOON) == []


async def test_windows_and_timeline_agree_over_a_month(counters: Subject) -> None:
    now = NOON
    for step in range(700):
        now += 3700
        counters.add(pieces(SUBJECT), Amounts(seen=step, complaints=step % 3), now)
        counters.settle(now)
    [totals] = await counters.read([SUBJECT], now)
    [timeline] = await counters.timelines([SUBJECT], now)
    for metric in Metric:
        column = [one[metric] for one in timeline.buckets]
        assert totals[Window.RECENT][metric] == column[-1]
        assert totals[Window.HOUR][metric] == sum(column[-6:])
        assert totals[Window.DAY][metric] == sum(column)
        assert totals[Window.FORTNIGHT][metric] == sum(one[metric] for one in timeline.days)


async def test_reading_and_adding_in_one_call_gives_what_was_there_before(
    counters: Subject,
) -> None:
    message = pieces(SUBJECT, Shingle(9, 9), pairs=(to(1),))
    for before in range(3):
        totals = await counters.read_add(message, Amounts(seen=1, spam=2), NOON)
        assert totals == [[[before, 2 * before, 0, 0, 0, 0]] * 4] * 2
        counters.settle(NOON)
    assert await seen(counters, SENDER, NOON) == [1] * 4
    assert await seen(counters, SUBJECT, NOON) == [3] * 4


async def test_wrong_amounts_read_nothing_and_count_nothing(counters: Subject) -> None:
    with pytest.raises(ValueError, match="amounts are"):
        await counters.read_add(pieces(SUBJECT), Amounts(seen=-1), NOON)
    assert await seen(counters, SUBJECT, NOON) == [0] * 4


@pytest.mark.parametrize("spam", [0, 1])
@pytest.mark.parametrize("times", [1, 3])
async def test_what_is_forgotten_counts_from_nothing(
    counters: Subject, times: int, spam: int
) -> None:
    for _ in range(times):
        counters.add(pieces(SUBJECT, Shingle(9, 9)), Amounts(seen=1, spam=spam), NOON)
        counters.settle(NOON)
    counters.add(pieces(SUBJECT), ONE, NOON, CounterPrefix.OUT)
    counters.settle(NOON)
    counters.forget(SUBJECT, NOON)
    assert await seen(counters, SUBJECT, NOON) == [0] * 4
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [0] * 4
    counters.add(pieces(SUBJECT), ONE, NOON)
    assert await seen(counters, SUBJECT, NOON) == [1] * 4
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [1] * 4
    assert await seen(counters, Shingle(9, 9), NOON) == [times] * 4
    [out] = await counters.read([SUBJECT], NOON, CounterPrefix.OUT)
    assert out[Window.DAY][Metric.SEEN] == 1


async def test_a_shingle_is_counted_forgotten_and_counted_in_one_flush(counters: Subject) -> None:
    counters.add(pieces(SUBJECT), Amounts(seen=5), NOON)
    counters.forget(SUBJECT, NOON)
    counters.add(pieces(SUBJECT), Amounts(seen=2), NOON)
    counters.forget(Shingle(9, 9), NOON)
    assert await seen(counters, SUBJECT, NOON) == [2] * 4
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [2] * 4


async def test_a_forgotten_pair_is_new_again_and_its_sum_stays(counters: Subject) -> None:
    counters.add(pieces(pairs=(to(1), to(2))), ONE, NOON)
    counters.settle(NOON)
    counters.forget(to(1).both, NOON)
    counters.settle(NOON)
    assert await seen(counters, SENDER, NOON) == [2] * 4
    counters.add(pieces(pairs=(to(1),)), ONE, NOON)
    counters.settle(NOON)
    assert await seen(counters, SENDER, NOON) == [3] * 4
    counters.forget(SENDER, NOON)
    counters.settle(NOON)
    assert await seen(counters, SENDER, NOON) == [0] * 4


def some(*amounts: int) -> Amounts:
    return Amounts(*amounts)


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("first", ["add", "take"])
async def test_what_is_taken_back_was_never_added(
    counters: Subject, first: str, settled: bool
) -> None:
    """In either order, at once or after the store has the one and not the other.

    Hours and days later, too.
    """
    other, at, undone = Shingle(9, 9), NOON - 3600, some(1, 300, 0, 2**40)
    never = MemoryCounters()  # gets only what stays
    for each in (counters, never):
        each.add(pieces(other), some(1, 1), at)
        each.add(pieces(other, pairs=(to(1),)), some(3), NOON)
    for taken in (first == "take", first != "take"):
        if taken:
            counters.take_back([SUBJECT, other], undone, at)
        else:
            counters.add(pieces(SUBJECT, other, pairs=(to(1),)), undone, at)
        if settled:
            counters.settle(NOON)
        rows = await counters.read([SUBJECT, other], NOON)
        assert min(min(map(min, row)) for row in rows) == 0
    for hours in (0, 1, 25, 13 * 24):
        now = NOON + hours * 3600
        counters.settle(now)
        asked = [SUBJECT, other, SENDER]
        assert await counters.read(asked, now) == await never.read(asked, now)
        assert await counters.timelines(asked, now) == await never.timelines(asked, now)


async def test_each_service_counts_and_takes_back_apart(counters: Subject) -> None:
    for number, prefix in enumerate(CounterPrefix, 2):
        counters.add(pieces(SUBJECT), some(number), NOON, prefix)
    counters.settle(NOON)
    for prefix in list(CounterPrefix)[::2]:
        counters.take_back([SUBJECT], some(1), NOON, prefix)
    counters.settle(NOON)
    found = [
        (await counters.read([SUBJECT], NOON, prefix))[0][Window.DAY][Metric.SEEN]
        for prefix in CounterPrefix
    ]
    assert found == [number - (number % 2 == 0) for number, _prefix in enumerate(CounterPrefix, 2)]


async def test_part_of_what_was_added_is_taken_back(counters: Subject) -> None:
    """As a verdict that was wrong: the message was seen, and it was no spam."""
    for _ in range(3):
        counters.add(pieces(SUBJECT), some(1, 1), NOON)
        counters.settle(NOON)
    counters.take_back([SUBJECT], some(0, 1), NOON)
    counters.settle(NOON)
    assert await counters.read([SUBJECT], NOON) == [[[3, 2, 0, 0, 0, 0]] * 4]
    counters.take_back([SUBJECT], some(0, 2), NOON, CounterPrefix.OUT)
    counters.settle(NOON)
    assert await counters.read([SUBJECT], NOON) == [[[3, 2, 0, 0, 0, 0]] * 4]


async def test_more_than_was_added_reads_as_nothing_until_it_is_added(
    counters: Subject,
) -> None:
    counters.add(pieces(SUBJECT), some(5), NOON)
    counters.add(pieces(SUBJECT), some(2), NOON - 600)
    counters.settle(NOON)
    counters.take_back([SUBJECT], some(9), NOON)
    counters.settle(NOON)
    [line] = await counters.timelines([SUBJECT], NOON)
    assert [one[Metric.SEEN] for one in line.buckets[-3:]] == [0, 2, 0]
    assert await seen(counters, SUBJECT, NOON) == [0, 0, 0, 0]
    counters.add(pieces(SUBJECT), some(4), NOON)
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [0, 2, 2, 2]


async def test_what_is_out_of_the_windows_is_taken_back_from_nothing(counters: Subject) -> None:
    counters.add(pieces(SUBJECT), some(5), NOON)
    counters.settle(NOON)
    counters.take_back([SUBJECT], some(5), NOON - 20 * DAY)
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [5] * 4


@pytest.mark.parametrize("wrong", [Amounts(seen=-1), Amounts(traps=2**49)])
async def test_amounts_that_cannot_be_taken_back_are_refused(
    counters: Subject, wrong: Amounts
) -> None:
    counters.add(pieces(SUBJECT), some(5), NOON)
    with pytest.raises(ValueError, match="amounts to take back"):
        counters.take_back([SUBJECT], wrong, NOON)
    assert await seen(counters, SUBJECT, NOON) == [5] * 4


async def test_what_is_forgotten_takes_what_was_taken_back_with_it(counters: Subject) -> None:
    counters.take_back([SUBJECT], some(5), NOON)
    counters.settle(NOON)
    counters.take_back([SUBJECT], some(5), NOON)
    counters.forget(SUBJECT, NOON)
    counters.add(pieces(SUBJECT), some(3), NOON)
    assert await seen(counters, SUBJECT, NOON) == [3] * 4
    counters.settle(NOON)
    assert await seen(counters, SUBJECT, NOON) == [3] * 4


@pytest.mark.parametrize("seconds", [-1, 0, 1])
async def test_a_leap_second_and_summer_time_move_no_border(
    counters: Subject, seconds: int
) -> None:
    """Unix time repeats a second or has none for it: 2016-12-31 23:59:60 is 1483228800.

    2026-03-29 has 23 hours in Berlin.
    """
    for midnight in (1_483_228_800.0, 1_774_742_400.0):
        counters.add(pieces(SUBJECT), ONE, midnight + seconds)
        counters.settle(midnight)
        assert (await seen(counters, SUBJECT, midnight + 600.5))[Window.RECENT] == 0
        assert (await seen(counters, SUBJECT, midnight + 599.5))[Window.RECENT] == (seconds >= 0)
        [timeline] = await counters.timelines([SUBJECT], midnight)
        day = timeline.days[-1][Metric.SEEN]
        assert day == (seconds >= 0)
        assert (await seen(counters, SUBJECT, midnight + DAY - 1))[Window.DAY] == (seconds >= 0)
