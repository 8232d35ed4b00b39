"""The past of an entity: one bucket says all of one time, and its parts do not overlap."""

from hypothesis import given
from hypothesis import strategies as st

from oborona.counters import window
from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, DAY_S, Timeline, bucket_of, timeline
from oborona.reputation import timeline as reputation
from oborona.reputation.timeline import (
    BAD_AGING,
    GOOD_AGING,
    EntityHistory,
    TimelineBucket,
    entity_history,
)
from oborona.types import Metric

NOW = 20_000 * DAY_S + 9 * 3600
NOBODY = [0] * len(Metric)


def line(counts: dict[int, list[int]]) -> Timeline:
    """Of counts by how many buckets ago they were."""
    return timeline({bucket_of(NOW) - ago: row for ago, row in counts.items()}, {}, NOW)


def seen(number: int) -> list[int]:
    return [number, 0, 0, 0, 0, 0]


def test_the_windows_are_those_of_the_counters() -> None:
    assert (reputation.BUCKETS, reputation.DAYS) == (window.BUCKETS_A_DAY, window.DAYS)
    assert len(GOOD_AGING) == len(BAD_AGING) == reputation.DAYS - 1


def test_what_happened_at_one_time_lies_in_one_bucket() -> None:
    found = entity_history(
        line({2: [9, 3, 2, 1, 4, 1]}),
        refused=line({2: seen(50)}),
        first=line({2: seen(7)}),
        deleted=line({1: seen(6)}),
        recipients=line({2: seen(8)}),
    )
    mail = TimelineBucket(9, 3, 2, 1, 4, 1, refused=50, first=7, recipients=8)
    assert found.buckets[-3] == mail
    assert found.buckets[-2] == TimelineBucket(deleted=6)
    assert found.days[-1] == found.day == found.hour == found.fortnight == mail._replace(deleted=6)
    assert not any(map(any, found.days[:-1]))


def test_what_nobody_asked_for_is_zero() -> None:
    found = entity_history(line({2: [9, 3, 2, 1, 4, 1]}), first=line({200: seen(7)}))
    assert found.buckets[-3] == TimelineBucket(9, 3, 2, 1, 4, 1)
    assert found.days[-3] == TimelineBucket(first=7)


def test_of_nothing_all_sums_are_zero() -> None:
    for nothing in (EntityHistory(), entity_history(line({}))):
        assert not any(nothing.day + nothing.hour + nothing.fortnight + nothing.weighed)


@given(st.dictionaries(st.integers(0, 13 * BUCKETS_A_DAY), st.integers(1, 1000), max_size=12))
def test_the_last_day_and_the_days_before_are_the_fortnight(counts: dict[int, int]) -> None:
    """Invariant: no message of the fortnight lies in both, and none in neither."""
    found = entity_history(line({ago: seen(number) for ago, number in counts.items()}))
    in_days = {
        ago: number
        for ago, number in counts.items()
        if NOW - ago * BUCKET_S >= NOW // DAY_S * DAY_S - 13 * DAY_S
    }
    assert found.fortnight.seen == sum(in_days.values())
    assert found.day.seen == sum(number for ago, number in counts.items() if ago < BUCKETS_A_DAY)
    assert found.day.seen + sum(day.seen for day in found.before) == found.fortnight.seen


def test_what_is_old_is_worth_less_and_bad_a_little_sooner() -> None:
    def weighed(days: int) -> tuple[float, float]:
        sums = entity_history(line({days * BUCKETS_A_DAY: [2, 1, 0, 0, 0, 0]})).weighed
        return sums.passed, sums.spam

    assert weighed(0) == (1.0, 1.0)
    passed, spam = weighed(3)
    assert passed == 0.5
    assert spam < passed
    assert weighed(10)[1] == 1 / 16
    assert weighed(14) == (0.0, 0.0)
