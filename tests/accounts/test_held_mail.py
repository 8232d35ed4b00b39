"""When people are told of held mail, and what is written down of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.held_mail import (
    DAY_S,
    HOUR_S,
    NAMED,
    HeldMail,
    HeldMailStep,
    HeldMailTimes,
    held_mail_of,
    next_step,
)

NOW = 1_800_000_000.0
OLD = HeldMail(at=NOW - 60, number=2, oldest=NOW - 30 * HOUR_S)


def test_the_accounts_with_most_mail_are_named() -> None:
    messages = [(NOW - number, f"u{number % 20}@a.example") for number in range(100)]
    messages += [(NOW - 500, "eve@a.example")] * 9 + [
        (NOW, ""),
        (NOW, "x\x1b[2J"),
        (NOW, "y" * 999),
    ]
    found = held_mail_of(messages, NOW)
    assert (found.number, found.oldest) == (112, NOW - 500)
    assert found.accounts[0] == ("eve@a.example", 9)
    assert len(found.accounts) == NAMED
    assert all(name.isprintable() and len(name) <= 200 for name, _ in found.accounts)
    assert held_mail_of([], NOW) == HeldMail(at=NOW)


@pytest.mark.parametrize(
    ("mail", "times", "step"),
    [
        (None, HeldMailTimes(), HeldMailStep.WAIT),
        (None, HeldMailTimes(held=NOW - HOUR_S), HeldMailStep.ASK),
        (None, HeldMailTimes(held=NOW - 2 * DAY_S), HeldMailStep.ASK),
        (OLD, HeldMailTimes(held=NOW - 30 * HOUR_S), HeldMailStep.TELL),
        (OLD, HeldMailTimes(held=NOW - 30 * HOUR_S, told=NOW - HOUR_S), HeldMailStep.WAIT),
        (OLD, HeldMailTimes(held=NOW - 30 * HOUR_S, told=NOW - DAY_S), HeldMailStep.TELL),
        (OLD, HeldMailTimes(held=NOW - 30 * HOUR_S, told=NOW + DAY_S), HeldMailStep.TELL),
        (HeldMail(at=NOW - 60), HeldMailTimes(held=NOW - 2 * DAY_S), HeldMailStep.WAIT),
        (HeldMail(at=NOW - DAY_S, number=1, oldest=NOW - 2 * DAY_S), HeldMailTimes(), HeldMailStep.ASK),
        (HeldMail(at=NOW - DAY_S, number=1, oldest=NOW - 2 * DAY_S), HeldMailTimes(asked=NOW - 60), HeldMailStep.WAIT),
        (HeldMail(at=NOW - DAY_S, number=1, oldest=NOW - 2 * DAY_S), HeldMailTimes(asked=NOW - 700), HeldMailStep.TELL_UNSEEN),
        (HeldMail(at=NOW + DAY_S, number=1, oldest=NOW), HeldMailTimes(), HeldMailStep.WAIT),
    ],
)  # fmt: skip
def test_people_are_told_once_a_day_of_what_is_old_enough(
    mail: HeldMail | None, times: HeldMailTimes, step: HeldMailStep
) -> None:
    assert next_step(NOW, 24.0, mail, times) is step


def test_a_first_hold_that_nobody_has_looked_at_is_asked_about() -> None:
    seen = HeldMail(at=NOW - 40 * HOUR_S)
    times = HeldMailTimes(held=NOW - 30 * HOUR_S)
    assert next_step(NOW, 24.0, seen, times) is HeldMailStep.ASK


_TIME = st.floats(0, 4e9)
_MAIL = st.none() | st.builds(HeldMail, at=_TIME, number=st.integers(0, 9), oldest=_TIME)


@given(mail=_MAIL, times=st.builds(HeldMailTimes, held=_TIME, told=_TIME, asked=_TIME), now=_TIME)
def test_nobody_is_told_twice_in_a_day(
    mail: HeldMail | None, times: HeldMailTimes, now: float
) -> None:
    step = next_step(now, 24.0, mail, times)
    if times.told <= now < times.told + DAY_S:
        assert step is HeldMailStep.WAIT
