"""What is kept, and for how long."""

from __future__ import annotations

import msgspec
import pytest

from oborona.dns import DnsAnswer, DnsOutcome
from oborona.resolver.cache import FAILURE_S, MAX_TTL_S, AnswerCache
from oborona.resolver.chain import failure


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def found(ttl: int, *records: str | bytes) -> DnsAnswer:
    return DnsAnswer(outcome=DnsOutcome.FOUND, records=records or ("192.0.2.1",), ttl=ttl)


def again(answer: DnsAnswer) -> DnsAnswer:
    return msgspec.structs.replace(answer, again=True)


def test_an_answer_is_kept_for_its_ttl_and_says_what_is_left(clock: Clock) -> None:
    cache = AnswerCache(10, clock)
    cache.put(b"a", found(60))
    clock.now += 20.5
    assert cache.get(b"a") == again(found(39))
    clock.now += 39.5
    assert cache.get(b"a") is None
    assert len(cache) == 0


@pytest.mark.parametrize("outcome", [DnsOutcome.NO_DATA, DnsOutcome.NO_NAME])
def test_denials_are_kept_for_their_ttl(clock: Clock, outcome: DnsOutcome) -> None:
    cache = AnswerCache(10, clock)
    cache.put(b"a", DnsAnswer(outcome=outcome, ttl=10))
    cache.put(b"b", DnsAnswer(outcome=outcome, ttl=0))
    clock.now += 9
    assert cache.get(b"a") == DnsAnswer(outcome=outcome, ttl=1, again=True)
    assert cache.get(b"b") is None
    clock.now += 1
    assert cache.get(b"a") is None


def test_a_long_ttl_is_cut(clock: Clock) -> None:
    cache = AnswerCache(10, clock)
    cache.put(b"a", found(2**31 - 1))
    assert cache.get(b"a") == again(found(MAX_TTL_S))
    clock.now += MAX_TTL_S
    assert cache.get(b"a") is None


def test_a_failure_is_kept_for_a_moment(clock: Clock) -> None:
    cache = AnswerCache(10, clock)
    cache.put(b"a", failure("servfail"))
    clock.now += FAILURE_S - 0.1
    assert cache.get(b"a") == again(failure("servfail"))
    clock.now += 0.1
    assert cache.get(b"a") is None


def test_what_was_not_asked_for_longest_goes_first(clock: Clock) -> None:
    cache = AnswerCache(2, clock)
    cache.put(b"a", found(60))
    cache.put(b"b", found(60))
    assert cache.get(b"a")
    cache.put(b"c", found(60))
    assert cache.get(b"b") is None
    assert cache.get(b"a")
    assert cache.get(b"c")
    assert len(cache) == 2


def test_large_answers_count_as_several(clock: Clock) -> None:
    cache = AnswerCache(4, clock)
    cache.put(b"a", found(60))
    cache.put(b"large", found(60, b"x" * 3500))  # three and a bit: alone
    assert cache.get(b"a") is None
    assert cache.get(b"large")
    cache.put(b"too large", found(60, b"x" * 65_000))
    assert cache.get(b"too large") is None
    assert cache.get(b"large")
    cache.put(b"large", found(60))  # smaller now
    for name in (b"a", b"b", b"c"):
        cache.put(name, found(60))
    assert all(map(cache.get, (b"large", b"a", b"b", b"c")))


def test_no_room_keeps_nothing(clock: Clock) -> None:
    cache = AnswerCache(0, clock)
    cache.put(b"a", found(60))
    assert cache.get(b"a") is None
