"""How regular a flow is, and its trend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters.window import Timeline
from oborona.message.shingles import ShingleType
from oborona.policy.counts import MAX_LINES, MessageCounts, timelines_to_read
from oborona.policy.expression.flow import per_hour, trend
from oborona.reputation.judgement.rhythm import MIN_MESSAGES, regularity
from oborona.types import Metric, Shingle, Window

DAY = 144


def test_a_clock_is_regular_and_people_are_not() -> None:
    hourly = [int(number % 6 == 0) for number in range(DAY)]
    steady = [50] * DAY
    morning = [0] * 48 + [1, 0, 7, 0, 0, 2, 0, 0, 0, 1] + [0] * 60 + [5, 1] + [0] * 24
    blast = [0] * 100 + [400] + [0] * 43
    assert regularity(hourly) == pytest.approx(1.0)
    assert regularity(steady) == pytest.approx(1.0)
    # evenly spread within its bucket, as far as is known
    assert regularity(blast) == pytest.approx(1.0)
    assert regularity(morning) == 0.0


def test_a_rhythm_by_chance_is_no_clock() -> None:
    state, drawn = 7, []
    for _ in range(DAY):
        state = state * 1_103_515_245 + 12_345 & 0x7FFFFFFF
        drawn.append(int(state % 1000 < 200))
    assert sum(drawn) > MIN_MESSAGES
    regular = regularity(drawn)
    assert regular is not None
    assert regular < 0.3


def test_too_few_say_nothing() -> None:
    assert regularity([1] * (MIN_MESSAGES - 1) + [0] * (DAY - MIN_MESSAGES + 1)) is None
    assert regularity([0] * DAY) is None
    assert regularity([]) is None


@given(st.lists(st.integers(min_value=0, max_value=2**63 - 1), max_size=DAY))
def test_it_is_none_or_a_share(buckets: list[int]) -> None:
    regular = regularity(buckets)
    assert regular is None or 0 <= regular <= 1


def test_trend_and_rate() -> None:
    assert trend(0, 0) == 1
    assert trend(100, 2400) == 1
    assert trend(40, 40) == 41
    assert trend(0, 2300) == pytest.approx(1 / 101)
    assert per_hour(48, 24.0) == 2


def rows(seen: int) -> list[list[int]]:
    return [[seen] + [0] * (len(Metric) - 1) for _ in Window]


def test_lines_are_asked_for_where_they_can_say_something() -> None:
    shingles = [
        Shingle(ShingleType.FROM, 1),
        Shingle(ShingleType.URL, 2),
        Shingle(ShingleType.URL, 3),
    ]
    totals = [rows(100), rows(MIN_MESSAGES), rows(MIN_MESSAGES - 1)]
    assert timelines_to_read(shingles, totals, frozenset({ShingleType.URL})) == (
        Shingle(ShingleType.URL, 2),
    )
    assert timelines_to_read(shingles, totals, frozenset()) == ()
    many = [Shingle(ShingleType.URL, number) for number in range(50)]
    assert len(timelines_to_read(many, [rows(99)] * 50, frozenset({ShingleType.URL}))) == MAX_LINES


def test_the_most_regular_piece_answers() -> None:
    def line(buckets: list[int]) -> Timeline:
        return Timeline(buckets=[[count, 0, 0, 0, 0, 0] for count in buckets], days=[])

    burst = [30] + [0] * 100 + [1] * 3 + [0] * 40
    known = MessageCounts(
        lines={ShingleType.URL: [line(burst), line([1] * DAY)], ShingleType.FROM: [line([0] * DAY)]}
    )
    assert known.robotic(ShingleType.URL) == pytest.approx(1.0)
    assert known.robotic(ShingleType.FROM) is None
    assert known.robotic(ShingleType.SUBJECT) is None
