"""Who is turned away while the loop is behind, and who is not; and how far behind it is."""

from __future__ import annotations

import asyncio
import time

import pytest

from oborona.session.concurrency_limit import (
    BUSY,
    FORGIVEN,
    MOST_CLIENTS,
    MOST_OWED_S,
    ConcurrencyLimit,
)
from oborona.session.loop_lag import BEAT_S, LoopLag


def burn(cpu_s: float) -> None:
    until = time.thread_time() + cpu_s
    while time.thread_time() < until:
        pass


class Behind(LoopLag):
    """A loop that is behind as far as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told_s = 0.0

    @property
    def behind_s(self) -> float:
        return self.told_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def dear(concurrency: ConcurrencyLimit, ip: str, cpu_s: float, times: int = 1) -> None:
    for _ in range(times):
        concurrency.enter(ip)
        concurrency.leave(ip, cpu_s)


def test_nobody_is_turned_away_while_there_is_time(clock: list[float]) -> None:
    crowd = ConcurrencyLimit(10, Behind())
    dear(crowd, "192.0.2.1", 60.0, 5)
    assert crowd.enter("192.0.2.1")


def test_while_it_is_behind_those_whose_mail_was_dear_come_again(clock: list[float]) -> None:
    pulse = Behind()
    crowd = ConcurrencyLimit(10, pulse)
    dear(crowd, "192.0.2.1", 1.0)
    dear(crowd, "2001:db8::1", 1.0)
    dear(crowd, "198.51.100.1", 0.05, 500)  # much mail, each as cheap as honest mail is
    pulse.told_s = 0.5
    assert crowd.bars("192.0.2.1")
    assert crowd.bars("2001:db8::ffff:2"), "of the same /64"
    assert not crowd.bars("2001:db8:0:1::1")
    assert not crowd.bars("198.51.100.1")
    assert not crowd.enter("192.0.2.1")
    assert (BUSY.value(), crowd.inside) == (1, 0)


def test_who_is_put_off_before_a_message_is_counted_too(clock: list[float]) -> None:
    pulse = Behind()
    crowd = ConcurrencyLimit(10, pulse)
    assert not crowd.should_defer("192.0.2.1")
    assert BUSY.value() == 0
    pulse.told_s = 3.0
    assert crowd.should_defer("192.0.2.1")
    assert BUSY.value() == 1


def test_where_it_is_far_behind_all_come_again(clock: list[float]) -> None:
    pulse = Behind()
    crowd = ConcurrencyLimit(10, pulse, deadline_s=10.0)
    pulse.told_s = 1.9
    assert not crowd.bars("198.51.100.1")
    pulse.told_s = 2.1
    assert crowd.bars("198.51.100.1")


def test_a_client_is_forgiven_soon_whatever_came_from_there(clock: list[float]) -> None:
    pulse = Behind()
    crowd = ConcurrencyLimit(10, pulse)
    dear(crowd, "192.0.2.1", 30.0, 100)
    pulse.told_s = 0.5
    clock[0] += MOST_OWED_S / FORGIVEN - 1
    assert crowd.bars("192.0.2.1")
    clock[0] += 2
    assert not crowd.bars("192.0.2.1")


def test_so_many_clients_are_remembered_and_no_more(clock: list[float]) -> None:
    crowd = ConcurrencyLimit(10, Behind())
    for number in range(MOST_CLIENTS + 100):
        dear(crowd, f"10.0.{number // 256}.{number % 256}", 1.0)
    assert len(crowd._owed) == MOST_CLIENTS


async def test_a_loop_that_computes_is_behind_and_one_that_waits_is_not() -> None:
    pulse = LoopLag()
    pulse.start()
    try:
        await asyncio.sleep(BEAT_S * 3)
        assert pulse.behind_s < BEAT_S
        lost = pulse.lost_s
        burn(0.4)
        assert pulse.behind_s >= 0.4
        assert pulse.held_up(lost, 1.0)
        before = pulse._due
        while pulse._due == before:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert pulse.behind_s >= 0.4, (
            "a beat has come, and the next comers still wait for what was read meanwhile"
        )
        await asyncio.sleep(BEAT_S * 3)
        assert pulse.behind_s < 0.3
        assert pulse.held_up(lost, 1.0), "what was lost stays lost"
    finally:
        pulse.stop()


async def test_a_process_that_was_stopped_was_held_up_but_computes_nothing() -> None:
    pulse = LoopLag()
    pulse.start()
    try:
        lost = pulse.lost_s
        time.sleep(0.5)
        assert pulse.held_up(lost, 1.0)
        assert pulse.behind_s < 0.2
    finally:
        pulse.stop()


def test_without_a_loop_nothing_is_late() -> None:
    pulse = LoopLag()
    assert (pulse.lost_s, pulse.behind_s, pulse.held_up(0.0, 1.0)) == (0.0, 0.0, False)
