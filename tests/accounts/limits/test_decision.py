"""Which limits a message passes, and what becomes of it: the table of all cases."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

import pytest

from oborona.accounts.limits.decision import (
    FEWEST,
    LimitReading,
    LimitRuling,
    MessageAmounts,
    rule_on_limits,
)
from oborona.accounts.limits.usual import AccountPast
from oborona.policy.limit_table import LimitAction, LimitCount, LimitSubject, LimitWindow
from oborona.policy.limits import Limit, LimitFacts
from oborona.types import RuleMode

ANN: Final = LimitFacts(login="ann@firm.example", domain="firm.example")
MESSAGE: Final = MessageAmounts(messages=1, recipients=3, octets=2_000)


def limit(
    then: LimitAction = LimitAction.HOLD,
    *,
    name: str = "A",
    count: LimitCount = LimitCount.RECIPIENTS,
    mode: RuleMode = RuleMode.LIVE,
    most: Callable[[LimitFacts], float | None] = lambda _: 10.0,
    excused: Callable[[LimitFacts], bool] = lambda _: False,
    asks_past: bool = False,
) -> Limit:
    return Limit(
        name=name,
        each=LimitSubject.ACCOUNT,
        count=count,
        window=LimitWindow.HOUR,
        limit="given by the test",
        then=then,
        mode=mode,
        most=most,
        excused=excused,
        asks_past=asks_past,
        asks_sent=False,
        asks_sent_most=False,
        asks_place=False,
    )


def ruling(
    *readings: LimitReading, adds: MessageAmounts = MESSAGE, program: bool = False
) -> LimitRuling:
    return rule_on_limits(readings, adds, ANN, program=program)


@pytest.mark.parametrize(
    ("count", "counted", "at_mail", "at_the_end"),
    [
        (LimitCount.RECIPIENTS, 7, False, False),  # 7 + 3 is what is allowed
        (LimitCount.RECIPIENTS, 8, False, True),
        (LimitCount.RECIPIENTS, 9, False, True),
        (LimitCount.RECIPIENTS, 10, True, True),  # used up
        (LimitCount.MESSAGES, 9, False, False),
        (LimitCount.MESSAGES, 10, True, True),
        (LimitCount.OCTETS, 0, False, True),
        (LimitCount.OCTETS, 10, True, True),
        (LimitCount.SPAM, 10, False, False),  # not this message's doing
        (LimitCount.SPAM, 11, True, True),
        (LimitCount.ADDRESSES, 10, False, False),
        (LimitCount.ADDRESSES, 11, True, True),
        (LimitCount.FIRST_CONTACTS, 10, False, False),
        (LimitCount.FIRST_CONTACTS, 11, True, True),
    ],
)
def test_where_a_limit_is_passed(
    count: LimitCount, counted: int, at_mail: bool, at_the_end: bool
) -> None:
    reading = LimitReading(limit=limit(count=count), counted=counted)
    assert bool(ruling(reading, adds=FEWEST).passed) is at_mail
    assert bool(ruling(reading).passed) is at_the_end


@pytest.mark.parametrize(
    ("then", "mode", "program", "action"),
    [
        ("alert", "live", False, None),
        ("tempfail", "live", False, "tempfail"),
        ("hold", "live", False, "hold"),
        ("refuse", "live", False, "refuse"),
        ("alert", "live", True, None),
        ("tempfail", "live", True, "hold"),
        ("hold", "live", True, "hold"),
        ("refuse", "live", True, "refuse"),
        ("alert", "shadow", False, None),
        ("tempfail", "shadow", False, None),
        ("hold", "shadow", False, None),
        ("refuse", "shadow", False, None),
        ("tempfail", "shadow", True, None),
    ],
)
def test_what_becomes_of_it(then: str, mode: str, program: bool, action: str | None) -> None:
    one = LimitReading(limit=limit(LimitAction(then), mode=RuleMode(mode)), counted=99)
    told = ruling(one, program=program)
    assert told.action == action
    assert [passed.value for passed in told.passed] == [102]
    assert (told.by is None) == (action is None)


def test_the_gravest_of_several_is_done() -> None:
    for order in itertools.permutations(LimitAction):
        limits = [limit(action, name=action.upper()) for action in order]
        told = ruling(*(LimitReading(limit=one, counted=99) for one in limits))
        assert told.action is LimitAction.REFUSE
        assert told.by is not None
        assert told.by.limit.name == "REFUSE"
        assert [passed.limit for passed in told.passed] == limits


def test_of_equal_ones_the_first_speaks() -> None:
    first, second = limit(name="FIRST"), limit(name="SECOND")
    told = ruling(*(LimitReading(limit=one, counted=99) for one in (first, second)))
    assert told.by is not None
    assert told.by.limit is first


def test_one_in_shadow_does_not_hide_a_live_one() -> None:
    shadow = limit(LimitAction.REFUSE, name="SHADOW", mode=RuleMode.SHADOW)
    live = limit(LimitAction.TEMPFAIL, name="LIVE")
    told = ruling(*(LimitReading(limit=one, counted=99) for one in (shadow, live)))
    assert told.action is LimitAction.TEMPFAIL
    assert len(told.passed) == 2


def test_formulas_know_the_past_of_their_own_limit() -> None:
    grown = limit(most=lambda facts: max(10.0, 5 * facts.usual), asks_past=True)
    asked = limit(most=lambda facts: 10.0 + facts.age_days, asks_past=True)
    known = AccountPast(40.0, 13)
    assert not ruling(LimitReading(limit=grown, counted=197, past=known)).passed
    assert ruling(LimitReading(limit=grown, counted=198, past=known)).passed
    assert ruling(LimitReading(limit=grown, counted=8)).passed  # without a past: the floor
    assert not ruling(LimitReading(limit=asked, counted=20, past=known)).passed
    assert ruling(LimitReading(limit=asked, counted=21, past=known)).passed


def test_who_is_excused() -> None:
    excused = limit(excused=lambda facts: facts.login == "ann@firm.example")
    other = limit(excused=lambda facts: facts.login == "bob@firm.example")
    assert not ruling(LimitReading(limit=excused, counted=99)).passed
    assert ruling(LimitReading(limit=other, counted=99)).passed


def test_a_formula_that_gives_nothing_or_fails_is_passed_by_nobody_and_told() -> None:
    def broken(_: LimitFacts) -> float:
        raise OverflowError("too large")

    told = ruling(
        LimitReading(limit=limit(name="NONE", most=lambda _: None), counted=99),
        LimitReading(limit=limit(name="BROKEN", most=broken), counted=99),
        LimitReading(limit=limit(name="NAN", most=lambda _: float("nan")), counted=99),
        LimitReading(limit=limit(LimitAction.REFUSE, name="GOOD"), counted=99),
    )
    assert [passed.limit.name for passed in told.passed] == ["GOOD"]
    assert told.action is LimitAction.REFUSE
    assert told.faults == ("NONE: limit: none", "BROKEN: OverflowError: too large")


def test_nothing_read_is_nothing_passed() -> None:
    assert ruling() == LimitRuling()
