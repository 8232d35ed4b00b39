"""Each measure by itself: what it finds, how sure it is, what it says, and what it does not fall
for.
"""

from __future__ import annotations

import pytest

from oborona.reputation.judgement import (
    age,
    breadth,
    change,
    complaints,
    first_contact,
    readership,
    rhythm,
    share,
    steadiness,
)
from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.timeline import BUCKETS, DAYS, NOTHING, EntityHistory, TimelineBucket


def days(*last: TimelineBucket, now: TimelineBucket = NOTHING) -> EntityHistory:
    """The last of these days was yesterday, long before the last 24 hours.

    Today's mail, if any, came in the current bucket.
    """
    return EntityHistory(
        (*[NOTHING] * (BUCKETS - 1), now), (*[NOTHING] * (DAYS - 1 - len(last)), *last, now)
    )


def hours(*last: int, before: int = 0) -> EntityHistory:
    """So many messages in each of the last hours, all of them today, and so many on each day before
    yesterday.
    """
    each = [
        TimelineBucket(seen=number)
        for hour in last
        for number in (*[hour // 6] * 5, hour - hour // 6 * 5)
    ]
    past = [TimelineBucket(seen=before)] * 12
    return EntityHistory(
        (*[NOTHING] * (BUCKETS - len(each)), *each),
        (*past, NOTHING, TimelineBucket(seen=sum(last))),
    )


DAILY = [TimelineBucket(seen=100, recipients=80)] * 13


def test_share_is_drawn_to_one_half_by_little_mail() -> None:
    assert share.measure(EntityHistory()).value == 0.5
    assert share.measure(EntityHistory()).confidence == 0
    assert share.measure(days(now=TimelineBucket(seen=1, spam=1))).value == pytest.approx(0.6)
    much = share.measure(days(now=TimelineBucket(seen=1000, spam=1000)))
    assert much.value > 0.99
    assert much.confidence > 0.99


def test_share_of_a_steady_sender_is_told_as_it_is() -> None:
    for part in (0, 10, 25, 50, 100):
        found = share.measure(
            days(
                *[TimelineBucket(seen=100, spam=part)] * 13, now=TimelineBucket(seen=100, spam=part)
            )
        )
        assert found.value == pytest.approx(part / 100, abs=0.03)


def test_share_weighs_words_and_traps() -> None:
    plain = share.evidence(days(now=TimelineBucket(seen=10)))
    assert (plain.bad, plain.good) == (0, 2.5)
    assert share.evidence(days(now=TimelineBucket(seen=10, complaints=1))).bad == 5
    assert share.evidence(days(now=TimelineBucket(seen=10, traps=1))).bad == 10
    pardoned = share.evidence(days(now=TimelineBucket(seen=10, spam=2, pardons=1)))
    assert (pardoned.bad, pardoned.good) == (1, 7)
    assert (
        share.evidence(
            days(now=TimelineBucket(refused=1000, first=1000, deleted=1000, recipients=1000))
        ).known
        == 0
    )


def test_share_leans_on_bad_neighbours_and_leaves_itself_out_of_them() -> None:
    own, bad = days(now=TimelineBucket(seen=4)), days(now=TimelineBucket(seen=400, spam=390))
    assert share.measure(own, bad).value > share.measure(own).value
    assert "its neighbours: 390 of 400 were spam" in share.measure(own, bad).say
    assert share.measure(own, own) == share.measure(own)
    assert share.measure(own, days(now=TimelineBucket(seen=4000))) == share.measure(own)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        (TimelineBucket(seen=4000, complaints=0), 0, 0),
        (TimelineBucket(seen=30, complaints=1), 0, 0),  # by mistake
        (TimelineBucket(seen=30, complaints=3), 0.003, 0.004),
        (TimelineBucket(seen=4000, complaints=13), 0.0025, 0.003),
        (TimelineBucket(seen=4000, spam=3900, complaints=13), 0.019, 0.021),  # of those who got it
    ],
)
def test_complaints_are_a_rate_of_what_was_delivered(
    counts: TimelineBucket, low: float, high: float
) -> None:
    assert low <= complaints.measure(days(now=counts)).value <= high


def test_complaints_are_told_of_two_weeks() -> None:
    assert (
        complaints.measure(days(TimelineBucket(seen=4000, complaints=12))).say
        == "12 complaints of 4,000 in two weeks"
    )
    assert complaints.measure(days(TimelineBucket(seen=4000))).say == ""


def test_change_of_a_burst() -> None:
    found = change.measure(days(*DAILY, now=TimelineBucket(seen=4000, recipients=100)))
    assert found.value == pytest.approx(120)
    assert found.say == "120 times its usual volume in the last hour (4,000 messages)"
    assert found.confidence > 0.9


def test_change_of_recipients() -> None:
    found = change.measure(days(*DAILY, now=TimelineBucket(seen=150, recipients=900)))
    assert found.say == "11 times its usual recipients in the last day (900)"


@pytest.mark.parametrize(
    ("past", "why"),
    [
        (EntityHistory(), "nothing is no change"),
        (days(now=TimelineBucket(seen=9)), "few are nobody's burst"),
        (days(*DAILY, now=TimelineBucket(seen=100, recipients=80)), "a day's mail at once"),
        (
            days(
                *[NOTHING, *[TimelineBucket(seen=400)] * 2, *[NOTHING] * 4] * 2,
                now=TimelineBucket(seen=400),
            ),
            "weekends only",
        ),
        (
            days(TimelineBucket(seen=4000), *[NOTHING] * 6, now=TimelineBucket(seen=4000)),
            "each week",
        ),
        (
            days(TimelineBucket(seen=4000), *[NOTHING] * 5, now=TimelineBucket(seen=4000)),
            "a day early",
        ),
        (hours(*[100] * 23, 240, before=2400), "an hour twice as busy"),
    ],
)
def test_a_rhythm_is_no_change(past: EntityHistory, why: str) -> None:
    assert change.measure(past).value <= 3, why
    assert change.measure(past).say == "", why


def test_an_hour_is_held_against_the_busiest_of_the_day() -> None:
    assert change.measure(hours(*[6] * 22, 60, 300, before=150)).value == 5
    assert change.measure(hours(*[6] * 23, 300, before=60)).value == 15


def test_spam_of_yesterday_is_no_excuse_for_todays() -> None:
    spammer = days(
        *[TimelineBucket(seen=1000, spam=1000)] * 13, now=TimelineBucket(seen=1000, spam=1000)
    )
    assert change.measure(spammer).value == 100


def test_contact_is_the_share_of_strangers() -> None:
    assert (
        first_contact.measure(days(now=TimelineBucket(seen=100))).confidence == 0
    )  # not counted here
    met = first_contact.measure(days(now=TimelineBucket(seen=100, first=97)))
    assert met.value == pytest.approx(0.97)
    assert met.say == "97 % of its recipients never had mail from it"
    assert first_contact.measure(days(now=TimelineBucket(seen=100, first=20))).say == ""
    assert first_contact.measure(days(now=TimelineBucket(seen=1, first=1))).confidence < 0.05
    assert first_contact.measure(days(now=TimelineBucket(seen=100, spam=90, first=10))).value == 1


def test_readers() -> None:
    assert (
        readership.measure(days(now=TimelineBucket(seen=100))).confidence == 0
    )  # nobody says what is read
    found = readership.measure(days(TimelineBucket(seen=90, reads=60, deleted=9)))
    assert found.value == pytest.approx(0.6, abs=0.04)
    assert found.say == "67 % were read, 10 % deleted unread"
    assert readership.measure(days(TimelineBucket(seen=10, reads=500))).value == 1
    assert (
        readership.deleted_unread_share(days(TimelineBucket(seen=100, deleted=95, reads=2))) > 0.8
    )
    assert readership.deleted_unread_share(days(TimelineBucket(seen=3, deleted=3))) < 0.3


def test_age_is_that_of_good_mail() -> None:
    assert age.measure(EntityHistory()) == HistoryMeasure("age", 0.0, 0.0)
    assert age.measure(days(*DAILY, now=TimelineBucket(seen=100))).value == pytest.approx(6.5)
    assert (
        age.measure(days(*DAILY, now=TimelineBucket(seen=100))).say == "known for two weeks or more"
    )
    today = age.measure(days(now=TimelineBucket(seen=500)))
    assert (today.value, today.say) == (0, "not known before today")
    assert (
        age.measure(days(*[TimelineBucket(seen=10)] * 10, now=TimelineBucket(seen=800))).value < 1
    )  # warmed up
    assert age.measure(days(*[TimelineBucket(seen=100, spam=100)] * 13)).value == 0
    assert age.measure(days(TimelineBucket(seen=5))).say == "known for a day"


def test_steady_or_all_at_once() -> None:
    assert steadiness.measure(days(*DAILY)).value == 13
    once = steadiness.measure(days(TimelineBucket(seen=500), NOTHING, NOTHING))
    assert (once.value, once.say) == (1, "all its good mail on one day")
    assert (
        steadiness.measure(days(TimelineBucket(seen=2, spam=2))).say == "no good mail in two weeks"
    )


def test_breadth() -> None:
    assert (
        breadth.measure(days(TimelineBucket(seen=9))).confidence == 0
    )  # recipients are not counted
    one = breadth.measure(days(*[TimelineBucket(seen=9, recipients=1)] * 5))
    assert (one.value, one.say) == (1, "one recipient a day")
    many = breadth.measure(days(TimelineBucket(seen=9000, recipients=3000)))
    assert (many.value, many.say) == (3000, "3,000 recipients a day, 3.0 messages each")


def test_rhythm_of_a_clock_and_of_people() -> None:
    clock = rhythm.measure(
        EntityHistory(
            (TimelineBucket(seen=1),) * BUCKETS,
            (*[NOTHING] * 12, TimelineBucket(seen=70), TimelineBucket(seen=74)),
        )
    )
    assert clock.value == pytest.approx(1)
    assert clock.say == "like a clock, round the clock"
    assert rhythm.measure(hours(3)).confidence == 0
    assert "round" not in rhythm.measure(hours(*[60] * 8)).say


def test_asleep_is_how_much_of_a_day_is_left_out() -> None:
    assert rhythm.quiet_share([0] * BUCKETS) == 0
    assert rhythm.quiet_share([7] * BUCKETS) == pytest.approx(0, abs=1e-9)
    assert rhythm.quiet_share([0] * (BUCKETS - 1) + [9]) == pytest.approx(1)
    office = [1] * (BUCKETS // 3) + [0] * (BUCKETS - BUCKETS // 3)
    assert 0.8 < rhythm.quiet_share(office) < 0.9
