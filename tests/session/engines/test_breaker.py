"""When an engine is left alone, and what brings it back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oborona.session.engines.breaker import (
    FAILURES,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    BreakerPermit,
    CircuitBreaker,
)


def away(at: float = 0.0) -> CircuitBreaker:
    breaker = CircuitBreaker()
    for number in range(FAILURES):
        assert breaker.enter(at) is BreakerPermit.USUAL
        assert breaker.failed(BreakerPermit.USUAL, at) is (number == FAILURES - 1)
    return breaker


def test_failures_in_a_row_send_it_away_and_an_answer_between_does_not() -> None:
    breaker = CircuitBreaker()
    for _ in range(3):
        for _ in range(FAILURES - 1):
            assert not breaker.failed(breaker.enter(0.0), 0.0)
        assert not breaker.answered()
    assert not breaker.away
    assert away().away


def test_one_question_on_trial_and_an_answer_brings_it_back() -> None:
    breaker = away()
    assert breaker.enter(FIRST_PAUSE_S - 0.01) is BreakerPermit.NONE
    assert breaker.enter(FIRST_PAUSE_S) is BreakerPermit.TRIAL
    assert breaker.enter(FIRST_PAUSE_S + 100) is BreakerPermit.NONE
    assert breaker.answered()
    assert breaker.enter(FIRST_PAUSE_S) is BreakerPermit.USUAL
    assert not breaker.answered()


def test_each_trial_in_vain_doubles_the_pause_up_to_the_longest() -> None:
    breaker, now, pause = away(), 0.0, FIRST_PAUSE_S
    for _ in range(12):
        assert breaker.enter(now + pause - 0.01) is BreakerPermit.NONE
        now += pause
        assert breaker.enter(now) is BreakerPermit.TRIAL
        assert not breaker.failed(BreakerPermit.TRIAL, now)
        pause = min(2 * pause, LONGEST_PAUSE_S)
    assert pause == LONGEST_PAUSE_S


def test_questions_of_before_it_went_away_make_nothing_worse() -> None:
    breaker = away()
    for _ in range(20):
        assert not breaker.failed(BreakerPermit.USUAL, 0.5)
    assert breaker.enter(FIRST_PAUSE_S) is BreakerPermit.TRIAL
    assert not breaker.failed(BreakerPermit.USUAL, FIRST_PAUSE_S)
    assert breaker.enter(FIRST_PAUSE_S) is BreakerPermit.NONE, "one trial at a time"


def test_a_trial_that_nobody_waits_for_lets_the_next_one_try() -> None:
    breaker = away()
    breaker.given_up(breaker.enter(FIRST_PAUSE_S))
    assert breaker.enter(FIRST_PAUSE_S) is BreakerPermit.TRIAL


@given(
    st.lists(
        st.tuples(st.sampled_from(["answered", "failed", "given up", "later"]), st.floats(0, 200)),
        max_size=60,
    )
)
def test_it_never_stays_away_for_longer_than_the_longest_pause(
    events: list[tuple[str, float]],
) -> None:
    """Whatever happens: while it is away at most one question is out, and after the longest pause
    one may be asked.
    """
    breaker, now, out = CircuitBreaker(), 0.0, []
    for what, step in events:
        now += step
        leave = breaker.enter(now)
        if leave is not BreakerPermit.NONE:
            out.append(leave)
        assert sum(one is BreakerPermit.TRIAL for one in out) <= 1 or not breaker.away
        if not out or what == "later":
            continue
        ending = out.pop(0)
        if what == "answered":
            breaker.answered()
            out = [one for one in out if one is not BreakerPermit.TRIAL]
        elif what == "failed":
            breaker.failed(ending, now)
        else:
            breaker.given_up(ending)
    for ending in out:
        breaker.given_up(ending)
    assert breaker.enter(now + LONGEST_PAUSE_S) is not BreakerPermit.NONE
