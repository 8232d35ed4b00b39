"""How often clients may ask, and what of their bodies is held at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.http.rate_limit import MOST, RateLimiter
from oborona.doors.memory_budget import MemoryBudget


def test_a_burst_and_then_the_rate() -> None:
    rates = RateLimiter(2.0, 3)
    assert [rates.wait_s("a", 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert rates.wait_s("b", 0.0) == 0.0
    assert rates.wait_s("a", 0.25) == 0.25
    assert rates.wait_s("a", 0.5) == 0.0
    assert rates.wait_s("a", 0.5) == 0.5
    assert [rates.wait_s("a", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_without_a_rate_nobody_is_limited() -> None:
    rates = RateLimiter(0.0, 1)
    assert {rates.wait_s("a", 0.0) for _ in range(100)} == {0.0}


@given(
    st.floats(0.1, 50),
    st.integers(1, 20),
    st.lists(st.floats(0, 3, allow_nan=False), min_size=1, max_size=60),
)
def test_nobody_gets_more_than_burst_and_rate(rate: float, burst: int, gaps: list[float]) -> None:
    """Invariant: in any span from the first request on, at most burst + rate * seconds are let
    through; and who waits as told, gets through.
    """
    rates, now, let = RateLimiter(rate, burst), 0.0, 0
    for gap in gaps:
        now += gap
        wait_s = rates.wait_s("a", now)
        if not wait_s:
            let += 1
        else:
            now += wait_s + 1e-6
            assert rates.wait_s("a", now) == 0.0
            let += 1
    assert let <= burst + rate * now + 1e-6


def test_the_table_is_bounded_and_keeps_those_who_have_asked_most() -> None:
    rates = RateLimiter(0.001, 2)
    assert [rates.wait_s("greedy", 0.0) for _ in range(2)] == [0.0, 0.0]
    for number in range(3 * MOST):
        rates.wait_s(str(number), 1.0)
        assert len(rates._buckets) <= MOST
    assert rates.wait_s("greedy", 2.0) > 0


def test_who_has_not_asked_for_long_is_forgotten_first() -> None:
    rates = RateLimiter(1.0, 2)
    for number in range(MOST):
        rates.wait_s(str(number), 0.0)
    rates.wait_s("late", 100.0)
    assert list(rates._buckets) == ["late"]


@given(st.lists(st.lists(st.integers(0, 60), max_size=5), max_size=8))
def test_no_more_is_held_than_there_is_and_all_is_given_back(requests: list[list[int]]) -> None:
    """Invariant: what is held never exceeds the room, and is nothing when all are gone."""
    room = MemoryBudget(100)
    open_: list[object] = []
    for pieces in requests:
        held = room.hold()
        before = room.held
        took = sum(piece for piece in pieces if held.more(piece))
        assert room.held == before + took <= 100
        open_.append(held)
    for one in open_:
        one.__exit__(None, None, None)  # type: ignore[attr-defined]
    assert room.held == 0
    with room.hold() as last:
        assert last.more(100)
        assert not last.more(1)
    assert room.held == 0
