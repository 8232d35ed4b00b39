"""The judgement: what moves it and what does not, how it forgives, what it says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.counters.window import (
    BUCKET_S,
    BUCKETS_A_DAY,
    DAY_S,
    SATURATED,
    Timeline,
    bucket_of,
    timeline,
)
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.judgement.judge import judge
from oborona.reputation.timeline import EntityHistory, entity_history
from oborona.types import Metric

NOW = 20_000 * DAY_S + 15.5 * 3600
SLACK = 1e-9  # points, of sums in floating point

Event = tuple[int, list[int]]
"""How many buckets ago, and [Metric]; or, beside the mail, one number."""


def line(events: list[Event]) -> Timeline:
    buckets: dict[int, list[int]] = {}
    for ago, counts in events:
        kept = buckets.setdefault(bucket_of(NOW) - ago, [0] * len(Metric))
        for metric, count in enumerate(counts):
            kept[metric] += count
    return timeline(buckets, {}, NOW)


@st.composite
def mails(draw: st.DrawFn) -> list[int]:
    """What one bucket counts; feedback may come without mail, and spam is of what was seen."""
    size = draw(st.sampled_from([3, 60, 4000]))
    seen = draw(st.integers(0, size))
    word = st.integers(0, draw(st.sampled_from([0, 2, size])))
    return [seen, draw(st.integers(0, seen)), draw(word), draw(word), draw(word), draw(word)]


AGO = st.one_of(st.integers(0, BUCKETS_A_DAY + 20), st.integers(0, 13 * BUCKETS_A_DAY))
EVENTS = st.lists(st.tuples(AGO, mails()), max_size=8)
BESIDE = st.lists(
    st.tuples(AGO, st.sampled_from([1, 20, 500]).map(lambda number: [number, 0, 0, 0, 0, 0])),
    max_size=3,
)


@given(
    EVENTS,
    st.one_of(st.none(), EVENTS),
    st.tuples(BESIDE, BESIDE, BESIDE),
    AGO,
    st.sampled_from([Metric.SPAM, Metric.COMPLAINTS, Metric.TRAPS, Metric.PARDONS, Metric.READS]),
    st.sampled_from([1, 1, 7, 300]),
)
def test_evidence_moves_trust_its_own_way(
    own: list[Event],
    others: list[Event] | None,
    beside: tuple[list[Event], list[Event], list[Event]],
    when: int,
    what: Metric,
    many: int,
) -> None:
    """Invariant: one more spam, complaint or trap hit never raises the trust, one more pardon or
    read never lowers it, whatever happened before.
    """
    first, deleted, recipients = map(line, beside)
    counts = [0] * len(Metric)
    counts[what] = many
    if what is Metric.SPAM:
        counts[Metric.SEEN] = many

    def judged(events: list[Event]) -> tuple[float, ReputationFlag]:
        whole = entity_history(line(events), first=first, deleted=deleted, recipients=recipients)
        found = judge(whole, None if others is None else entity_history(line(events + others)))
        assert -100 <= found.trust <= 100
        assert all(0 <= one.confidence <= 1 for one in found.measures)
        return found.trust, found.flag

    (before, flag), (after, then) = judged(own), judged([*own, (when, counts)])
    if what in (Metric.PARDONS, Metric.READS):
        assert after >= before - SLACK
        assert then.order <= flag.order
    else:
        assert after <= before + SLACK
        assert then.order >= flag.order


def test_nothing_known_is_nothing() -> None:
    for nothing in (EntityHistory(), entity_history(line([]))):
        found = judge(nothing)
        assert (found.flag, found.trust, found.say) == (ReputationFlag.UNKNOWN, 0.0, "")
        assert all(one.points == 0 for one in found.measures)
    assert judge(EntityHistory(), entity_history(line([(0, [9, 0, 0, 0, 0, 0])]))).trust == 0


@settings(max_examples=30)
@given(EVENTS, st.one_of(st.none(), EVENTS))
def test_the_points_are_the_trust(own: list[Event], others: list[Event] | None) -> None:
    """Invariant: what is listed adds up to the trust, but for the two ends and the stop before
    bad.
    """
    found = judge(
        entity_history(line(own)), None if others is None else entity_history(line(own + others))
    )
    total = sum(one.points for one in found.measures)
    assert found.trust == pytest.approx(min(100, max(total, -100))) or (
        found.trust == -74 and total < -74
    )


def test_neighbours_make_nobody_bad_and_nobody_good() -> None:
    street = entity_history(line([(100, [100_000, 100_000, 900, 0, 0, 900])]))
    assert judge(EntityHistory(), street).flag is ReputationFlag.POOR
    fine = entity_history(line([(300, [100_000, 0, 0, 0, 0, 0])]))
    assert judge(EntityHistory(), fine).trust == 0


@pytest.mark.parametrize("own", [1, SATURATED])
def test_a_count_that_stopped_at_its_end_is_judged(own: int) -> None:
    full = entity_history(
        line([(ago, [own] * len(Metric)) for ago in range(0, 13 * BUCKETS_A_DAY, 24)])
    )
    found = judge(full, full)
    assert -100 <= found.trust <= 100


GOOD_A_DAY = 40


def after(days: int, bad: int, *, good: int = GOOD_A_DAY) -> ReputationFlag:
    """The flag so many days after a day of spam, with good mail before and since."""
    today = int(NOW % DAY_S // BUCKET_S)
    spam = [(days * BUCKETS_A_DAY, [bad, bad, 0, 0, 0, 0])] if days < 14 else []
    daily = [
        (ago * BUCKETS_A_DAY + today // 2, [good, 0, 0, 0, 0, 0])
        for ago in range(13)
        if ago != days
    ]
    return judge(entity_history(line([*spam, *daily]))).flag


@pytest.mark.parametrize(
    ("times", "not_bad", "not_poor", "good"),
    [(3, 0, 1, 8), (10, 0, 4, 13), (20, 2, 6, 14), (50, 5, 9, 14)],
)
def test_who_cleaned_up_is_forgiven_in_the_stated_time(
    times: int, not_bad: int, not_poor: int, good: int
) -> None:
    flags = [after(days, times * GOOD_A_DAY) for days in range(15)]
    assert [flag.order for flag in flags] == sorted((flag.order for flag in flags), reverse=True)
    assert sum(flag is ReputationFlag.BAD for flag in flags) == not_bad
    assert sum(flag in (ReputationFlag.BAD, ReputationFlag.POOR) for flag in flags) == not_poor
    assert sum(flag is not ReputationFlag.GOOD for flag in flags) == good


def test_silence_forgives_later_than_good_mail() -> None:
    assert after(4, 20 * GOOD_A_DAY, good=0) is ReputationFlag.BAD
    assert after(13, 20 * GOOD_A_DAY, good=0) in (ReputationFlag.BAD, ReputationFlag.POOR)
    assert after(14, 20 * GOOD_A_DAY, good=0) is ReputationFlag.UNKNOWN


def test_it_says_what_weighs_most_first() -> None:
    said = judge(entity_history(line([(400, [4000, 0, 60, 0, 0, 0]), (3, [4, 4, 0, 0, 0, 0])]))).say
    assert said == ("60 complaints of 4,004 in two weeks; 4 of 4,004 were spam")
