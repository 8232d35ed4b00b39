"""A quick look at made-up traffic: far more spam than good mail is refused at connect, and an
outcry is heard.

The figures of whole months are in docs/measured/senders.md; the bars here are wider, since a small
site sees less of each network.
"""

import numpy as np
import pytest

from benchmarks.reputation import QUICK_DAYS, QUICK_LEARNING, policy
from benchmarks.traffic.blind import blind
from benchmarks.traffic.connections import DAY_S, Kind
from benchmarks.traffic.figures import figures
from benchmarks.traffic.forgiving import OFFENCES, Offence, forgiven_h
from benchmarks.traffic.month import Month, month
from benchmarks.traffic.world import NUMBERS, World, drawn

SEED = 51


@pytest.fixture(scope="module")
def days() -> Month:
    return month(World(), SEED, policy(put_off=False), learning=QUICK_LEARNING, days=QUICK_DAYS)


def test_most_spam_and_hardly_any_good_mail_is_refused_at_connect(days: Month) -> None:
    shown = figures(days)
    assert shown.spam.all > 1500
    assert shown.good.all > 1000
    assert shown.spam.value > 0.4  # a memory of a few days
    others = [shown.kinds[kind] for kind in Kind if not kind.spam and kind is not Kind.PROVIDER]
    # after a day, one stolen account still weighs more than what is known of its provider
    assert sum(one.refused for one in others) < 0.005 * sum(one.all for one in others)
    assert shown.kinds[Kind.BOT].value > 0.3


def test_what_was_refused_is_never_complained_of(days: Month) -> None:
    mail, outcome = days.mail, days.outcome
    said = np.isfinite(days.fates.complaint) | np.isfinite(days.fates.trap)
    until = QUICK_DAYS * DAY_S
    told = said & (np.minimum(days.fates.complaint, days.fates.trap) < until) & ~outcome.refused
    assert 0 < len(outcome.cries) <= 2 * told.sum()
    assert len(mail.time) == len(outcome.refused)


def test_bursts_that_the_filter_does_not_see_are_refused_once_twenty_have_cried() -> None:
    found = blind(World(), SEED, policy(put_off=False), bursts=1)
    assert found
    assert all(one.seconds <= 300 for one in found)


@pytest.mark.parametrize("offence", [OFFENCES[0], OFFENCES[1]], ids=lambda one: one.words)
def test_an_address_alone_is_forgiven_after_a_day(offence: Offence) -> None:
    assert forgiven_h(offence) == 24


def test_worlds_are_drawn_within_their_ranges_and_the_same_seed_gives_the_same_one() -> None:
    assert set(NUMBERS) == set(World.__struct_fields__)
    one = drawn(np.random.default_rng(1))
    assert one == drawn(np.random.default_rng(1))
    assert one != drawn(np.random.default_rng(2))
    mix = (
        one.bots,
        one.snowshoe,
        one.bursts,
        one.steady,
        one.hacked,
        one.warmed,
        one.sold,
        one.infected,
    )
    assert sum(mix) == pytest.approx(1)
    for name, number in NUMBERS.items():
        assert number.low <= getattr(World(), name) <= number.high
        assert number.source
